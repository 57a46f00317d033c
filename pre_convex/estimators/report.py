"""The summary of a fit: a table for the terminal, a notebook, LaTeX, or a data frame."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._internal.escaping import for_html, for_latex, for_terminal
from .._internal.typing import Array
from .._internal.validation import read_only
from ..data.features import FeatureMap
from ..data.scaled import Scaled
from ..data.tables import as_frame
from ..problem import RatioProblem
from ..solution import Solution
from ..statistics.diagnostics import Diagnostics
from ..statistics.inference import Inference, Interval
from .standardising import kernel_features

__all__ = ["Report", "make_report", "of_features"]

#: headings of the first columns as text; those of the limits depend on the level
HEADINGS = ("coef", "std err", "z", "P>|z|")
#: maximum number of rows when a report is printed
MAX_PRINTED_ROWS = 40


@dataclass(frozen=True, eq=False)
class Report:
    """The summary of a fit: a table of coefficients, notes below it, and warnings.

    It prints as text, shows as a table in notebooks, and converts to LaTeX or a data frame.

    Attributes
    ----------
    title : str
        Name of the estimator and sizes of the samples.
    names : tuple of str
        Names of the k features.
    values : ndarray of shape (k, 6) or (k, 1)
        Coefficient, standard error, z, p-value, lower and upper limit; only the coefficient if there are no intervals.
    level : float
        Confidence level of the limits.
    notes : tuple of (str, str)
        Lines below the table, as name and text: divergence, certificate, solver, effective sample sizes and so on.
    warnings : tuple of str
        What needs attention; empty if nothing does.
    kernel : tuple of bool, default ()
        Which features are those of a kernel: their coefficients are counted instead of printed.
    """

    title: str
    names: tuple[str, ...]
    values: Array
    level: float
    notes: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]
    kernel: tuple[bool, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings of the columns of ``values``."""
        tail = 50.0 * (1.0 - self.level)
        names = (*HEADINGS, f"[{tail:g}%", f"{100 - tail:g}%]")
        return names[: self.values.shape[1]]

    def _cells(self) -> list[list[str]]:
        """The table as text."""
        return [_format_row(row) for row in self.values]

    def _printed(self) -> tuple[list[str], list[list[str]], str]:
        """Names and cells of the rows to print, without those of a kernel, and a line about the latter."""
        shown = [i for i in range(len(self.names)) if not (self.kernel and self.kernel[i])]
        others = len(self.names) - len(shown)
        line = f"{'and ' * bool(shown)}{others} coefficient{'s' * (others > 1)} of a kernel" if others else ""
        cells = self._cells()
        return [self.names[i] for i in shown], [cells[i] for i in shown], line

    def __str__(self) -> str:
        printed, cells, of_kernel = self._printed()
        names = [for_terminal(name) for name in printed]
        first = max([len(n) for n in names] + [8])
        widths = [max([len(h), *(len(row[i]) for row in cells)]) for i, h in enumerate(self.columns)]
        width = max(first + sum(w + 2 for w in widths), 60)
        head = " " * first + "".join(f"  {h:>{w}}" for h, w in zip(self.columns, widths, strict=True))
        lines = [self.title, "=" * width, head, "-" * width]
        for name, row in list(zip(names, cells, strict=True))[:MAX_PRINTED_ROWS]:
            lines.append(f"{name:<{first}}" + "".join(f"  {c:>{w}}" for c, w in zip(row, widths, strict=True)))
        if len(cells) > MAX_PRINTED_ROWS:
            lines.append(f"and {len(cells) - MAX_PRINTED_ROWS} more")
        lines += [of_kernel] * bool(of_kernel)
        lines.append("-" * width)
        label = max(len(name) for name, _ in self.notes)
        lines += [f"{name:<{label}}  {text}" for name, text in self.notes]
        lines.append("=" * width)
        return "\n".join(map(for_terminal, [*lines, *(f"warning: {text}" for text in self.warnings)]))

    def _repr_html_(self) -> str:
        """Table for notebooks."""
        names, cells, of_kernel = self._printed()
        head = "".join(f"<th>{for_html(h)}</th>" for h in ("", *self.columns))
        body = "".join(
            "<tr><th>" + for_html(name) + "</th>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>"
            for name, row in zip(names, cells, strict=True)
        )
        body += f'<tr><td colspan="{1 + len(self.columns)}">{of_kernel}</td></tr>' if of_kernel else ""
        notes = "".join(f"<tr><th>{for_html(n)}</th><td>{for_html(t)}</td></tr>" for n, t in self.notes)
        warnings = "".join(f"<li>{for_html(text)}</li>" for text in self.warnings)
        warned = f"<ul>{warnings}</ul>" if warnings else ""
        return f"<h4>{for_html(self.title)}</h4><table><tr>{head}</tr>{body}</table><table>{notes}</table>{warned}"

    def to_latex(self) -> str:
        """The table as a LaTeX tabular environment.

        Returns
        -------
        str
        """
        lines = [r"\begin{tabular}{l" + "r" * len(self.columns) + "}", r"\hline"]
        lines.append(" & ".join(["", *map(for_latex, self.columns)]) + r" \\")
        lines.append(r"\hline")
        lines += [" & ".join([for_latex(n), *row]) + r" \\" for n, row in zip(self.names, self._cells(), strict=True)]
        return "\n".join([*lines, r"\hline", r"\end{tabular}"])

    def to_frame(self, backend: str = "pandas") -> Any:
        """The table as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars"}, default "pandas"
            Kind of data frame.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row for each feature.
        """
        keys = Interval.COLUMNS[: self.values.shape[1]]
        data = {"feature": list(self.names), **{key: self.values[:, i] for i, key in enumerate(keys)}}
        return as_frame(data, backend)


def _format_row(row: Array) -> list[str]:
    """A row as text, with exponents where four decimals would hide a coefficient in very large or small units."""
    size = np.max(np.abs(row[:2]), where=~np.isnan(row[:2]), initial=0.0)
    zero = size < 1e-12 and not (len(row) > 1 and np.abs(row[0]) > 1e-3 * row[1] > 0.0)  # but for round-off
    plain = zero or 0.001 <= size < 1e5
    number = "{:.4f}" if plain else "{:.2e}"
    formats = (number, number, "{:.2f}", "{:.3f}", number, number)
    return [f.format(v) for f, v in zip(formats, row, strict=False)]


def make_report(
    title: str,
    problem: RatioProblem,
    solution: Solution,
    diagnostics: Diagnostics,
    inference: Inference | None,
    refusal: str,
    level: float,
    divergence: float,
    scale: Array,
) -> Report:
    """Report of a fit.

    Parameters
    ----------
    title : str
    problem : RatioProblem
    solution : Solution
    diagnostics : Diagnostics
    inference : Inference or None
        ``None`` if there are no intervals.
    refusal : str
        Why there are none.
    level : float
        Confidence level.
    divergence : float
        The estimated divergence.
    scale : ndarray of shape (k,)
        What the features of the problem have been divided by.
    """
    values = (solution.delta / scale)[:, None]
    amount = f"{problem.divergence.replace('kl', 'KL')} {divergence + 0.0:.4g}"  # + 0.0 turns -0 into 0
    notes = []
    if inference is not None:
        values = inference.conf_int(level).table()
        limits = inference.divergence(level)
        notes.append(("divergence", f"{amount} [{limits.lower[0]:.4g}, {limits.upper[0]:.4g}]"))
        notes.append(("delta = 0", str(inference.test_of_zero())))
    else:
        notes.append(("divergence", amount))
        notes.append(("intervals", f"not shown: {refusal}"))
    d = diagnostics
    notes.append(("certificate", f"gap {solution.gap:.1e}, {solution.status.name.lower()}"))
    notes.append(("solver", f"{solution.solver}, {solution.formulation}, {solution.iterations} iterations"))
    unit = " standard deviations" if np.any(scale != 1.0) else ""
    if problem.radius_per_feature:
        low, high = problem.radius.min(), problem.radius.max()
        notes.append(("radius", f"{low:.4g} to {high:.4g}{unit}, one for each feature"))
    else:
        notes.append(("radius", f"{problem.radius:.4g}{unit} in norm {problem.norm:g}"))
    notes.append(
        ("ESS", f"p {d.ess_p:.0f} of {d.n_p}, q {d.ess_base:.0f} of {d.n_q}, weights {d.ess_mu:.0f} of {d.n_q}")
    )
    notes.append(("Pareto k", d.tails))
    notes.append(("condition", f"{d.condition:.3g}, distance to the hull {d.hull_distance:.3g}"))
    return Report(title, problem.feature_names, read_only(values), level, tuple(notes), d.warnings)


def of_features(report: Report, features: FeatureMap) -> Report:
    """The report with what its features need: coefficients of kernels are marked, and standardised columns noted."""
    kernel = kernel_features(features, len(report.names))
    notes = report.notes
    if isinstance(features, Scaled) and not kernel.all():
        notes = (("coef", "per standard deviation: features='auto' standardises the columns"), *notes)
    return replace(report, notes=notes, kernel=tuple(kernel.tolist()))
