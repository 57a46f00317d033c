"""Compare estimators of a ratio on samples whose ratio is known: ``make ratios``.

24 settings and three covariate-shift splits of real data (:mod:`ratio_settings`), one draw of each for every seed. An
estimate is judged on a test sample:

- **regret**: E_p[log r − log r̂] + log E_q[r̂] − log E_q[r], the Kullback–Leibler divergence that it misses, in nats;
- **nmse**: E_q (r̂ − r)² / E_q (r − 1)², with both scaled to mean one: a ratio of one everywhere scores 1.

Estimates of log r are limited to ±10, since some are zero. Exceptions, numbers that are not finite and fits that take
more than a minute are failures; a failure ranks last. With several seeds the tables show means over the draws of a
setting, and the spread of the mean rank. Seconds are of one processor, without imports. The other
packages are in the dependency groups ``peers`` and ``peers-adapt``; missing ones are left out.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import math
import multiprocessing
import os
import signal
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import numpy as np
from ratio_settings import SETTINGS, SPLITS, Draw, Setting
from storing import ROOT, markdown_table, quote, store
from threadpoolctl import threadpool_limits

import pre_convex as pre
from pre_convex.data.kernels import median_length_scale

#: seeds that the package was not developed on, processor seconds for one fit, and seconds after which its process ends
SEEDS, LIMIT, PATIENCE = (4, 5, 6), 60.0, 3_600.0
#: feature entries of a sample above which a setting is not small
SMALL = 12_000
#: largest estimate of |log r|
LARGEST = 10.0
#: rows of the table: what users are advised to take
RECOMMENDED = "LogisticRatio, features auto"
Row = dict[str, Any]
#: log ratio at new points
LogRatio = Callable[[np.ndarray], np.ndarray]


# --- estimators


def fitted(make: Callable[[], Any]) -> Callable[[Draw], LogRatio]:
    """An estimator of this package."""

    def estimate(draw: Draw) -> LogRatio:
        log_ratio: LogRatio = make().fit(draw.x_p, draw.x_q).log_ratio
        return log_ratio

    return estimate


def densratio(method: str) -> Callable[[Draw], LogRatio]:
    """densratio, which searches the bandwidth itself."""

    def estimate(draw: Draw) -> LogRatio:
        from densratio import densratio as fit

        np.random.seed(0)  # noqa: NPY002  densratio uses the global generator
        found = fit(draw.x_p, draw.x_q, method=method, verbose=False)
        return lambda x: np.log(np.asarray(found.compute_density_ratio(x)).ravel())

    return estimate


def adapt(draw: Draw) -> LogRatio:
    """adapt's KLIEP, with bandwidths around the median distance; q is the source, p the target."""
    from adapt.instance_based import KLIEP

    scales = median_length_scale(draw.x_p) * np.array([0.25, 0.5, 1.0, 2.0, 4.0])
    fit = KLIEP(kernel="rbf", gamma=[float(0.5 / s**2) for s in scales], verbose=0, random_state=0)
    fit.fit_weights(draw.x_q, draw.x_p)
    return lambda x: np.log(np.asarray(fit.predict_weights(x)).ravel())


def classified(make: Callable[[np.ndarray], Any]) -> Callable[[Draw], LogRatio]:
    """Log-odds of a classifier of p against q rows, less those of the sizes of the samples."""

    def estimate(draw: Draw) -> LogRatio:
        x = np.concatenate([draw.x_p, draw.x_q])
        label = np.repeat([1, 0], [len(draw.x_p), len(draw.x_q)])
        model = make(x).fit(x, label)
        prior = math.log(len(draw.x_p) / len(draw.x_q))

        def log_ratio(new: np.ndarray) -> np.ndarray:
            chance = model.predict_proba(new)
            return np.log(chance[:, 1]) - np.log(chance[:, 0]) - prior

        return log_ratio

    return estimate


def logistic_kernel(x: np.ndarray) -> Any:
    """Cross-validated ridge logistic regression on 200 RBF landmarks with the median distance, columns standardised."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    scaled = StandardScaler().fit_transform(x)
    landmarks = Nystroem(gamma=0.5 / median_length_scale(scaled) ** 2, n_components=min(200, len(x)), random_state=0)
    model = LogisticRegressionCV(
        Cs=10, cv=5, scoring="neg_log_loss", max_iter=1000, l1_ratios=(0,), use_legacy_attributes=False
    )
    return make_pipeline(StandardScaler(), landmarks, model)


def boosting(x: np.ndarray) -> Any:
    """scikit-learn's histogram gradient boosting with early stopping on held-out log loss."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(early_stopping=True, learning_rate=0.05, max_iter=500, random_state=0)


@dataclass(frozen=True)
class Estimator:
    """A named estimator and the module it needs."""

    name: str
    module: str
    fit: Callable[[Draw], LogRatio]


ESTIMATORS = (
    Estimator(RECOMMENDED, "pre_convex", fitted(lambda: pre.LogisticRatio("auto"))),
    Estimator("KLIEP, features auto", "pre_convex", fitted(lambda: pre.KLIEP("auto"))),
    Estimator("KLIEP, linear", "pre_convex", fitted(lambda: pre.KLIEP(radius="auto"))),
    Estimator("KLIEP, quadratic", "pre_convex", fitted(lambda: pre.KLIEP("quadratic", radius="auto"))),
    Estimator("KLIEP, kernel, cv", "pre_convex", fitted(lambda: pre.KLIEP(pre.Kernel(landmarks=100), radius="cv"))),
    Estimator("mixture KLIEP", "pre_convex", fitted(pre.MixtureKLIEP)),
    Estimator("densratio KLIEP", "densratio", densratio("KLIEP")),
    Estimator("densratio uLSIF", "densratio", densratio("uLSIF")),
    Estimator("adapt KLIEP", "adapt", adapt),
    Estimator("logistic, RBF", "sklearn", classified(logistic_kernel)),
    Estimator("gradient boosting", "sklearn", classified(boosting)),
)


# --- judging


def judged(draw: Draw, log_ratio: LogRatio) -> Row:
    """Regret and normalised squared error on the test sample."""
    log_p, log_q = log_ratio(draw.test_p), log_ratio(draw.test_q)
    if np.any(np.isnan(log_p)) or np.any(np.isnan(log_q)):
        return {"failure": "numbers that are not finite"}
    log_p, log_q = np.clip(log_p, -LARGEST, LARGEST), np.clip(log_q, -LARGEST, LARGEST)
    r, estimate = np.exp(draw.log_ratio_q), np.exp(log_q)
    missed = float(draw.weight_p @ (draw.log_ratio_p - log_p))
    level = math.log(estimate.mean() / r.mean())
    r, estimate = r / r.mean(), estimate / estimate.mean()
    error = float(np.square(estimate - r).mean() / np.square(r - 1.0).mean())
    return {"failure": "", "regret": missed + level, "nmse": error}


def runs(settings: Iterable[Setting], seeds: Sequence[int]) -> list[tuple[Setting, int]]:
    """Every setting and seed."""
    return [(setting, seed) for setting in settings for seed in seeds]


def give_up(*_: Any) -> None:
    """End a fit that takes too long."""
    raise TimeoutError


def work(estimator: Estimator, todo: list[tuple[Setting, int]], sender: Any) -> None:
    """Run an estimator on settings, in a child process; send one row for each."""
    devnull = open(os.devnull, "w")  # noqa: SIM115  stays open until the process ends
    os.dup2(devnull.fileno(), 1)
    os.dup2(devnull.fileno(), 2)
    threadpool_limits(1)
    signal.signal(signal.SIGPROF, give_up)
    import_module(estimator.module if estimator.module != "adapt" else "adapt.instance_based")
    for setting, seed in todo:
        draw = setting.draw(seed)
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                log_ratio = estimator.fit(draw)
                seconds = time.process_time() - start
                signal.setitimer(signal.ITIMER_PROF, 0.0)
                row = judged(draw, log_ratio) | {"seconds": seconds}
        except Exception as error:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            row = {"failure": type(error).__name__, "seconds": time.process_time() - start}
        sender.send(row)


def rows_of(estimator: Estimator, todo: list[tuple[Setting, int]]) -> Iterator[Row]:
    """One row for each setting and seed; a fit that hangs or crashes ends its process, and another goes on."""
    context = multiprocessing.get_context("fork")
    while todo:
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(estimator, todo, sender), daemon=True)
        process.start()
        sender.close()
        done = 0
        for setting, seed in todo:
            facts = {"kind": setting.kind, "setting": setting.name, "seed": seed, "estimator": estimator.name}
            row = {"failure": "crash", "seconds": math.nan}
            with contextlib.suppress(EOFError):
                row = receiver.recv() if receiver.poll(PATIENCE) else {"failure": "hangs", "seconds": math.nan}
            yield facts | {"regret": math.nan, "nmse": math.nan} | row
            done += 1
            if row["failure"] in ("crash", "hangs"):
                break
        process.kill()
        process.join()
        todo = todo[done:]


#: columns of a row, and how they are read
COLUMNS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(("kind", "setting"), str), "seed": int, "estimator": str,
    "regret": float, "nmse": float, "failure": str, "seconds": float,
}  # fmt: skip


def stored_rows() -> list[Row]:
    """The stored rows, without versions."""
    path = ROOT / "benchmarks" / "results" / "ratios.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: read(row[name]) for name, read in COLUMNS.items()} for row in csv.DictReader(file)]


def merged(rows: list[Row], stored: list[Row]) -> list[Row]:
    """New rows in the place of stored ones of the same estimators; draws are the same every time."""
    new = {row["estimator"] for row in rows}
    order = list(dict.fromkeys([row["estimator"] for row in stored] + [row["estimator"] for row in rows]))
    both = [row for row in stored if row["estimator"] not in new] + rows
    return sorted(both, key=lambda row: order.index(row["estimator"]))


# --- tables


def means(rows: list[Row], column: str) -> dict[tuple[str, str], dict[str, float]]:
    """By setting and estimator: the mean over the draws, in which a failure is infinite."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for key in dict.fromkeys((row["kind"], row["setting"]) for row in rows):
        own = [row for row in rows if (row["kind"], row["setting"]) == key]
        found[key] = {
            name: statistics.mean(math.inf if r["failure"] else r[column] for r in own if r["estimator"] == name)
            for name in dict.fromkeys(row["estimator"] for row in own)
        }
    return found


def ranks(values: dict[str, float]) -> dict[str, float]:
    """Ranks from one; equal values share theirs."""
    order = sorted(values.values())
    return {name: order.index(x) + 0.5 * (order.count(x) + 1) for name, x in values.items()}


def mean_ranks(rows: list[Row]) -> dict[str, float]:
    """Of every estimator: its rank by mean regret, averaged over the settings."""
    placed = [ranks(values) for values in means(rows, "regret").values()]
    return {name: statistics.mean(one[name] for one in placed) for name in placed[0]}


def shown(x: float, digits: int = 3) -> str:
    """A number for the table."""
    return "–" if not math.isfinite(x) else f"{x:.{digits}f}"


def summary(rows: list[Row]) -> list[str]:
    """A line for every estimator, by mean rank."""
    regret, error = means(rows, "regret"), means(rows, "nmse")
    placed = mean_ranks(rows)
    seeds = list(dict.fromkeys(row["seed"] for row in rows))
    each = [mean_ranks([row for row in rows if row["seed"] == seed]) for seed in seeds]
    lines = []
    for name in dict.fromkeys(row["estimator"] for row in rows):
        own = [row for row in rows if row["estimator"] == name]
        by_setting = [values[name] for values in regret.values()]
        lines.append((
            placed[name],
            name,
            f"{min(one[name] for one in each):.1f}–{max(one[name] for one in each):.1f}",
            statistics.median(by_setting),
            max(by_setting),
            max(math.inf if row["failure"] else row["regret"] for row in own),
            statistics.median(values[name] for values in error.values()),
            sum(bool(row["failure"]) for row in own),
            statistics.median(row["seconds"] for row in own),
            max(row["seconds"] for row in own),
        ))  # fmt: skip
    head = ("estimator", "mean rank", "by seed", "regret, median", "worst setting", "worst draw", "nmse, median",
            "failures", "seconds", "most")  # fmt: skip
    body = [
        (name, shown(rank, 1), span, shown(a), *(shown(x, 2) for x in two), failed, shown(t, 2), shown(most, 1))
        for rank, name, span, a, *two, failed, t, most in sorted(lines)
    ]
    return markdown_table(head, body)


def by_kind(rows: list[Row]) -> list[str]:
    """Median regret of every estimator for each kind of setting."""
    regret = means(rows, "regret")
    kinds = list(dict.fromkeys(kind for kind, _ in regret))
    names = list(dict.fromkeys(row["estimator"] for row in rows))
    body = [
        (name, *(shown(statistics.median(v[name] for (k, _), v in regret.items() if k == kind)) for kind in kinds))
        for name in names
    ]
    return markdown_table(("estimator", *kinds), body)


def main() -> None:
    """Run, print and store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="of the draws of each setting")
    parser.add_argument("--small", action="store_true", help=f"leave out samples of more than {SMALL:,} entries")
    parser.add_argument("--store", action="store_true", help="write the results and the page that shows them")
    parser.add_argument("--jobs", type=int, default=1, help="estimators that run at the same time, each in a process")
    parser.add_argument("--only", default="", help="part of an estimator's name; the stored rows of others are kept")
    args = parser.parse_args()
    rows: list[Row] = []
    todo = runs((one for one in (*SETTINGS, *SPLITS) if not args.small or one.draw(0).x_q.size <= SMALL), args.seeds)
    chosen = [one for one in ESTIMATORS if args.only in one.name]
    for estimator in chosen:
        if find_spec(estimator.module) is None:
            print(f"{estimator.name}: {estimator.module} is not installed")

    def run(estimator: Estimator) -> list[Row]:
        start = time.perf_counter()
        found = list(rows_of(estimator, todo))
        print(f"{estimator.name}: {time.perf_counter() - start:.0f} s", flush=True)
        return found

    with ThreadPoolExecutor(args.jobs) as pool:
        for found in pool.map(run, [one for one in chosen if find_spec(one.module) is not None]):
            rows += found
    if args.store and args.only:
        rows = merged(rows, stored_rows())
    tables = {"ratios": summary(rows), "ratios-by-kind": by_kind(rows)}
    print("\n\n".join("\n".join(table) for table in tables.values()))
    if args.store:
        packages = [name for name in ("densratio", "adapt") if find_spec(name)]
        store("ratios", rows, ("pre-convex", "numpy", "scikit-learn", *packages))
        for mark, lines in tables.items():
            quote("docs/ratios.md", mark, lines)
    print({name: version(name) for name in ("numpy", "scikit-learn")})


if __name__ == "__main__":
    main()
