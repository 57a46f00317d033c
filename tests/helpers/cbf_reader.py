"""A reader of the Conic Benchmark Format, written from its specification, and two solvers to try the programs on.

A file is a list of sections: a keyword on its own line, then lines of data. Empty lines and lines that start with # are
ignored. The program minimises or maximises ⟨c,x⟩ + c0 with x in the cones of VAR and Ax + b in those of CON. The
exponential cone is (x, y, z) with x ≥ y exp(z / y), y ≥ 0; CLARABEL and SCS use the reverse order.
"""

import gzip
from dataclasses import dataclass

import numpy as np
from scipy import sparse

ORDER = ("VER", "OBJSENSE", "VAR", "CON", "OBJACOORD", "OBJBCOORD", "ACOORD", "BCOORD")


@dataclass
class Program:
    sense: str
    c: np.ndarray
    c0: float
    A: sparse.csc_matrix
    b: np.ndarray
    variables: list
    constraints: list
    comments: list


def read(path):
    """Read the program in a file, checking it against the specification."""
    with gzip.open(path, "rt", encoding="ascii") if str(path).endswith(".gz") else open(path, encoding="ascii") as file:
        lines = [line.rstrip("\n") for line in file]
    assert max(map(len, lines)) <= 512, "a line is longer than the format allows"
    comments = [line[1:].strip() for line in lines if line.startswith("#")]
    lines = iter([line for line in lines if line.strip() and not line.startswith("#")])
    data, seen = {}, []
    for keyword in lines:
        seen.append(keyword)
        if keyword in ("VER", "OBJSENSE", "OBJBCOORD"):
            data[keyword] = next(lines)
        elif keyword in ("VAR", "CON"):
            total, count = map(int, next(lines).split())
            data[keyword] = [(name, int(size)) for name, size in (next(lines).split() for _ in range(count))]
            assert sum(size for _, size in data[keyword]) == total
        else:
            rows = [next(lines).split() for _ in range(int(next(lines)))]
            where = np.array([[int(i) for i in row[:-1]] for row in rows])
            assert len(np.unique(where, axis=0)) == len(where), f"duplicate coordinate in {keyword}"
            data[keyword] = (where.T, np.array([float(row[-1]) for row in rows]))
    assert seen == sorted(seen, key=ORDER.index), "sections are not in the order of the format"
    assert data["VER"] in ("2", "3", "4"), "exponential cones need version 2"
    n, m = (sum(size for _, size in data[key]) for key in ("VAR", "CON"))
    c, b = np.zeros(n), np.zeros(m)
    (where,), numbers = data["OBJACOORD"]
    c[where] = numbers
    (where,), numbers = data["BCOORD"]
    b[where] = numbers
    where, numbers = data["ACOORD"]
    A = sparse.csc_matrix((numbers, tuple(where)), shape=(m, n))
    return Program(data["OBJSENSE"], c, float(data.get("OBJBCOORD", 0.0)), A, b, data["VAR"], data["CON"], comments)


#: cones, in the order that SCS needs
KINDS = ("L=", "L+", "Q", "EXP")


def standard(program):
    """(c, G, g, cones): minimise ⟨c,x⟩ subject to g − Gx in the cones, sorted by kind."""
    assert all(name == "F" for name, _ in program.variables)
    assert program.sense in ("MIN", "MAX")
    edges = np.cumsum([0, *(size for _, size in program.constraints)])
    order, cones = [], []
    for kind in KINDS:
        for (name, size), first in zip(program.constraints, edges, strict=False):
            assert name in KINDS
            if name == kind:
                rows = range(first, first + size)
                order += reversed(rows) if kind == "EXP" else rows
                cones.append((kind, size))
    c = program.c if program.sense == "MIN" else -program.c
    return c, sparse.csc_matrix(-program.A.tocsr()[order]), program.b[order], cones


def solve_clarabel(program, tol=1e-9):
    """(status, value, x) from CLARABEL."""
    import clarabel

    c, G, g, cones = standard(program)
    kinds = {
        "L=": clarabel.ZeroConeT,
        "L+": clarabel.NonnegativeConeT,
        "Q": clarabel.SecondOrderConeT,
        "EXP": lambda size: clarabel.ExponentialConeT(),
    }
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    P = sparse.csc_matrix((c.size, c.size))
    result = clarabel.DefaultSolver(P, c, G, g, [kinds[kind](size) for kind, size in cones], settings).solve()
    return _answer(program, str(result.status), np.array(result.x))


def solve_scs(program, tol=1e-7):
    """(status, value, x) from SCS."""
    import scs

    c, G, g, cones = standard(program)
    sizes = {kind: [size for name, size in cones if name == kind] for kind in KINDS}
    cone = {"z": sum(sizes["L="]), "l": sum(sizes["L+"]), "q": sizes["Q"], "ep": len(sizes["EXP"])}
    data = {"A": G, "b": g, "c": c}
    result = scs.SCS(data, cone, verbose=False, eps_abs=tol, eps_rel=tol, max_iters=50_000).solve()
    return _answer(program, result["info"]["status"], result["x"])


def _answer(program, status, x):
    """(status, value, x), with the status in the same words for both solvers."""
    words = {"solved": "optimal", "primalinfeasible": "infeasible", "dualinfeasible": "unbounded"}
    word = words.get(status.lower(), {"infeasible": "infeasible", "unbounded": "unbounded"}.get(status, status))
    return word, float(program.c @ x) + program.c0, x
