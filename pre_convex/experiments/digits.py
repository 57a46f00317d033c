"""Digits: what a two-layer network sees in a 6 or a 9, by PRE and by LIME, and in a network with random weights."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..applications.explanation import SuperPixels, explain
from ..applications.explanation.superpixels import grid_labels
from ..entropy import Array, Index, exp
from ..plots import plot_superpixels
from ..plots.canvas import AMBER, BLUE, GREEN, GREY, ORANGE, PINK, SKY, new_figure
from ..threads import quietly
from .local import lime_fit, lime_module, soft_line
from .mnist import read_mnist, read_openml
from .record import Finding, Outcome, Setting

if TYPE_CHECKING:
    from ..plots.canvas import Figure

TITLE = "Are the super-pixels that PRE selects those the network uses, and does LIME find them as well?"

PLAIN_PRE, SPARSE_PRE = "PRE", "PRE, sparse"
LIME_OWN, LIME_SAME, LOGISTIC = "LIME", "LIME, same points", "soft logistic"
METHODS = (PLAIN_PRE, SPARSE_PRE, LIME_OWN, LIME_SAME, LOGISTIC)
COLOURS = dict(zip(METHODS, (BLUE, SKY, ORANGE, AMBER, PINK), strict=True)) | {"most ink first": GREEN, "random": GREY}
SIX, NINE = 6, 9
#: width of LIME's kernel for images, its default
LIME_WIDTH = 0.25
#: share of selected super-pixels with ink that counts as "parts of the digit", and a difference of shares that matters
INK, MATTERS = 0.9, 0.05
#: a difference of leakages, cosines or mean probabilities that is named as one
TINY = 0.001


def load(setting: Setting) -> tuple[str, tuple[int, int], Array, Any, Array, Any]:
    """Name of the data, grid of super-pixels, and images and labels for training and testing, 6 and 9 only."""
    if setting.mnist is None:
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
        order = setting.rng(0).permutation(len(labels))
        cut = len(order) * 2 // 3
        parts = [(images[rows].reshape(-1, 8, 8) / 16.0, labels[rows]) for rows in (order[:cut], order[cut:])]
        name, grid = "scikit-learn's digits, 8 × 8 pixels", (8, 8)
    else:
        read = read_openml() if str(setting.mnist) == "openml" else read_mnist(setting.mnist)
        parts = [(read[0], read[1]), (read[2], read[3])]
        name, grid = "MNIST, 28 × 28 pixels", (7, 7)
    either = [np.isin(labels, (SIX, NINE)) for _, labels in parts]
    six_nine = [(images[rows], labels[rows]) for (images, labels), rows in zip(parts, either, strict=True)]
    return name, grid, *six_nine[0], *six_nine[1]


def train(images: Array, labels: Any, seed: int, epochs: int) -> Any:
    """A network with one hidden layer."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    with quietly(ConvergenceWarning):
        return MLPClassifier((64,), max_iter=epochs, random_state=seed).fit(images.reshape(len(images), -1), labels)


def with_random_weights(network: Any, rng: np.random.Generator) -> Any:
    """The same network with weights as before any training, by Glorot's rule."""
    from copy import deepcopy

    other = deepcopy(network)
    other.coefs_ = [rng.uniform(-1.0, 1.0, w.shape) * np.sqrt(6.0 / sum(w.shape)) for w in network.coefs_]
    other.intercepts_ = [np.zeros_like(b) for b in network.intercepts_]
    return other


def coefficients(network: Any, image: Array, grid: tuple[int, int], n: int, seed: int) -> tuple[dict[str, Array], Any]:
    """Coefficients of every method for the class that the network predicts, and which of PRE's differ from zero."""
    recipe = SuperPixels(grid, flat=True)
    found = explain(network, image, recipe, n, n_test=0, rng=seed)
    sparse = explain(network, image, recipe, n, n_test=0, rng=seed, radius="auto", norm=np.inf, label=found.label)
    interval = found.conf_int()
    labels = cells_of(image, grid)
    index = list(network.classes_).index(found.label)
    proba = np.column_stack([1.0 - found.answers, found.answers])
    by_method = {
        PLAIN_PRE: found.coef,
        SPARSE_PRE: sparse.coef,
        LIME_OWN: lime_package(network, image, labels, index, n, seed),
        LIME_SAME: lime_same_points(found.points, proba),
        LOGISTIC: soft_line(found.points, proba)[:-1],
    }
    return by_method, (interval.lower > 0.0) | (interval.upper < 0.0)


def cells_of(image: Any, grid: Any) -> Index:
    """Number of the super-pixel of every pixel."""
    height, width = image.shape
    return grid_labels(height, width, *grid)


def lime_package(network: Any, image: Array, labels: Index, index: int, n: int, seed: int) -> Array:
    """LIME's own points, kernel and ridge, on our super-pixels."""
    lime_image = lime_module("lime_image")

    def answer(images: Array) -> Array:
        return np.asarray(network.predict_proba(images[..., 0].reshape(len(images), -1)))

    with contextlib.redirect_stderr(io.StringIO()):  # it shows a bar of its own
        explainer = lime_image.LimeImageExplainer(kernel_width=LIME_WIDTH, random_state=seed)
        found = explainer.explain_instance(
            image, answer, labels=(index,), top_labels=None, hide_color=0, num_samples=n, batch_size=n,
            segmentation_fn=lambda _: labels, random_seed=seed,
        )  # fmt: skip
    coef = np.zeros(int(labels.max()) + 1)
    for feature, weight in found.local_exp[index]:
        coef[feature] = weight
    return coef


def lime_same_points(points: Array, proba: Array) -> Array:
    """LIME's kernel and ridge on the points that PRE had."""
    on = np.sqrt(points.mean(axis=1))  # cosine of a row of ones and zeros with a row of ones
    return lime_fit(points, proba, 1.0 - on, lambda d: exp(-0.5 * np.square(d / LIME_WIDTH)))[:-1]


def deletion(network: Any, image: Array, labels: Index, order: Any) -> Array:
    """Probability of the predicted class while super-pixels are switched off in an order."""
    pictures = [image]
    for cell in order:
        pictures.append(np.where(labels == cell, 0.0, pictures[-1]))
    P = network.predict_proba(np.array(pictures).reshape(len(pictures), -1))
    return np.asarray(P[:, int(np.argmax(P[0]))])


def mean_cosine(coefs: Iterable[Array]) -> float:
    """Mean cosine between all pairs of coefficient vectors."""
    units = np.array([c / (np.linalg.norm(c) or 1.0) for c in coefs])
    return float((units @ units.T)[np.triu_indices(len(units), 1)].mean())


def interval_of(values: Array, rng: np.random.Generator) -> tuple[float, float, float]:
    """Mean over images with its 95 % interval, by resampling images."""
    draws = values[rng.integers(0, len(values), (2000, len(values)))].mean(axis=1)
    low, high = np.quantile(draws, (0.025, 0.975))
    return float(values.mean()), float(low), float(high)


def examine(
    networks: Sequence[Any], images: Array, grid: tuple[int, int], n: int, seeds: int, setting: Setting, what: str
) -> dict[str, Any]:
    """Figures of every method on every image, each with its own network, and points of its own."""
    labels = cells_of(images[0], grid)
    cells = np.arange(int(labels.max()) + 1)
    rng = setting.rng(2)
    leak: dict[str, list[float]] = {m: [] for m in METHODS}
    cosine: dict[str, list[float]] = {m: [] for m in METHODS}
    curves: dict[str, list[Array]] = {m: [] for m in COLOURS}
    first: list[dict[str, Array]] = []
    false, chosen_ink = [], []
    for i, image in enumerate(setting.track(images, what, len(images))):
        network = networks[i]
        ink = np.array([image[labels == cell].sum() for cell in cells])
        empty = ink == 0.0
        found = [coefficients(network, image, grid, n, int(setting.rng(4, i, s).integers(2**31))) for s in range(seeds)]
        first.append(found[0][0])
        false.append(float(np.mean([clear[empty].mean() for _, clear in found])))
        chosen = [by[SPARSE_PRE] != 0.0 for by, _ in found]
        chosen_ink.append(float(np.mean([float(np.sum(c & ~empty)) / max(int(c.sum()), 1) for c in chosen])))
        for method in METHODS:
            coefs = [by[method] for by, _ in found]
            leak[method].append(float(np.mean([np.abs(c)[empty].sum() / np.abs(c).sum() for c in coefs])))
            cosine[method].append(mean_cosine(coefs) if seeds > 1 else np.nan)
            curves[method].append(deletion(network, image, labels, np.argsort(-coefs[0], kind="stable")))
        curves["most ink first"].append(deletion(network, image, labels, np.argsort(-ink, kind="stable")))
        at_random = [deletion(network, image, labels, rng.permutation(cells)) for _ in range(5)]
        curves["random"].append(np.mean(at_random, axis=0))
    return {"leak": leak, "cosine": cosine, "curves": curves, "first": first, "false": false, "chosen_ink": chosen_ink}


def run(setting: Setting) -> Outcome:
    """Train, explain, and compare."""
    name, grid, images, targets, test_images, test_targets = load(setting)
    network = train(images, targets, setting.seed, setting.pick(40, 200))
    accuracy = float(network.score(test_images.reshape(len(test_images), -1), test_targets))
    count, seeds, n = setting.pick(40, 4), setting.pick(5, 2), 1000
    rows = np.concatenate([np.flatnonzero(test_targets == digit)[: count // 2] for digit in (SIX, NINE)])
    shown = test_images[rows]
    random_networks = [with_random_weights(network, setting.rng(1, i)) for i in range(len(shown))]
    trained = examine([network] * len(shown), shown, grid, n, seeds, setting, "trained network")
    untrained = examine(random_networks, shown, grid, n, 1, setting, "random weights")
    data = {
        "source": name,
        "grid": grid,
        "points": n,
        "images": len(shown),
        "seeds": seeds,
        "accuracy": accuracy,
        "trained": figures(trained, setting),
        "random": figures(untrained, setting),
        "ink_less_random": interval_of(
            np.array(trained["chosen_ink"]) - np.array(untrained["chosen_ink"]), setting.rng(5)
        ),
        "examples": [
            {
                "digit": int(test_targets[rows[i]]),
                "image": np.round(255.0 * shown[i]).astype(int),
                **{m: trained["first"][i][m] for m in (PLAIN_PRE, SPARSE_PRE, LIME_OWN)},
                "random": untrained["first"][i][PLAIN_PRE],
            }
            for i in (0, 1, count // 2, count // 2 + 1)
        ],
    }
    return Outcome(tuple(findings(data)), verdict(data), data)


def figures(found: dict[str, Any], setting: Setting) -> dict[str, Any]:
    """Means over images with their intervals, and mean deletion curves."""
    rng = setting.rng(3)
    areas = {m: np.array([curve.mean() for curve in curves]) for m, curves in found["curves"].items()}
    return {
        "leak": {m: interval_of(np.array(v), rng) for m, v in found["leak"].items()},
        "cosine": {m: interval_of(np.array(v), rng) for m, v in found["cosine"].items()},
        "area": {m: interval_of(v, rng) for m, v in areas.items()},
        "pre_less": {
            key: {m: interval_of(values[PLAIN_PRE] - values[m], rng) for m in METHODS if m != PLAIN_PRE}
            for key, values in (
                ("leak", {m: np.array(v) for m, v in found["leak"].items()}),
                ("cosine", {m: np.array(v) for m, v in found["cosine"].items()}),
                ("area", areas),
            )
        },
        "curve": {m: np.mean(curves, axis=0) for m, curves in found["curves"].items()},
        "false": interval_of(np.array(found["false"]), rng),
        "chosen_ink": interval_of(np.array(found["chosen_ink"]), rng),
    }


def share(figure: Any) -> str:
    """A share with its interval."""
    digits = 1 if abs(figure[0]) > 0.01 else 2
    mean, low, high = (f"{100 * part:.{digits}f}".replace("-", "−") for part in figure)
    return f"{mean} % [{low}, {high}]"


def difference(figure: Any, unit: str = "") -> str:
    """A difference with its interval."""
    mean, low, high = (f"{100 * part:+.1f}" if unit else f"{part:+.4f}" for part in figure)
    mean, low, high = (text.replace("-", "−") for text in (mean, low, high))
    return f"{mean} {unit}".strip() + f" [{low}, {high}]"


def number(figure: Any) -> str:
    """A number with its interval."""
    return "{:.3f} [{:.3f}, {:.3f}]".format(*figure).replace("-", "−")


def findings(data: dict[str, Any]) -> Iterable[Finding]:
    """Key figures, with 95 % intervals over images; differences are of the same image."""
    trained, untrained, less = data["trained"], data["random"], data["trained"]["pre_less"]
    on = trained["chosen_ink"]
    yield Finding("network's accuracy", f"{100 * data['accuracy']:.1f} % on {data['source']}")
    yield Finding(
        "selected (sparse) that hold ink", share(on), "parts of the digit", "holds" if on[1] > INK else "does not hold"
    )
    yield Finding(
        "the same, random weights", share(untrained["chosen_ink"]), "so they matter to the network",
        judge_ink(data["ink_less_random"]),
    )  # fmt: skip
    for key, what, text in (("leak", "leakage", share), ("cosine", "cosine", number)):
        for method in METHODS:
            yield Finding(f"{what}: {method}", text(trained[key][method]))
        for method in (LIME_OWN, LOGISTIC):
            yield Finding(f"{what}: PRE − {method}", difference(less[key][method], "%" * (key == "leak")))
    yield Finding("empty, told apart from 0", f"{share(trained['false'])}; 5 % is allowed")
    for method in (*METHODS, "most ink first", "random"):
        yield Finding(f"deletion: {method}", number(trained["area"][method]))
    for method in (LIME_OWN, LOGISTIC):
        yield Finding(f"deletion: PRE − {method}", difference(less["area"][method]))


def judge_ink(difference: Sequence[float]) -> str:
    """Whether a trained network's selection holds more ink than a random one's, by an amount that matters."""
    _, low, high = difference
    if low > MATTERS:
        return "holds"
    return "does not hold: random networks do too" if high < MATTERS else "does not hold clearly"


def stands(difference: Sequence[float], better: str, worse: str, alike: str) -> str:
    """In words, whether a difference is below zero, above, or neither; one too small to matter is neither."""
    mean, low, high = difference
    return alike if abs(mean) < TINY or low <= 0.0 <= high else better if mean < 0.0 else worse


def verdict(data: dict[str, Any]) -> str:
    """What the figures say together."""
    trained, less = data["trained"], data["trained"]["pre_less"]
    on_digit = trained["chosen_ink"][1] > INK
    ink = f"the selected super-pixels {'lie' if on_digit else 'do not all lie'} on the digit"
    random = {
        "holds": "with random weights far fewer do",
        "does not hold: random networks do too": "with random weights they do as well, so that this is no evidence",
    }.get(judge_ink(data["ink_less_random"]), "with random weights it is not clear how many do")
    parts = [ink, random]
    for method in (LIME_OWN, LOGISTIC):
        (leak, *_), (steady, low, high), (order, *_) = (less[key][method] for key in ("leak", "cosine", "area"))
        parts.append(
            f"PRE {stands(less['leak'][method], 'leaks less than', 'leaks more than', 'leaks as much as')} {method} "
            f"(by {100.0 * abs(leak):.2g} points), "
            # a larger cosine is better: the difference is turned round
            f"is {stands((-steady, -high, -low), 'steadier', 'less steady', 'as steady')} (by {abs(steady):.1g}), "
            f"and its order is {stands(less['area'][method], 'better', 'worse', 'no better')} (by {abs(order):.1g})"
        )
    return "; ".join(parts)


def draw(data: Mapping[str, Any]) -> Figure:
    """Overlays of four images beside deletion curves, leakage and stability."""
    figure = new_figure(14.0, 7.4)
    halves: Any = figure.subfigures(1, 2, width_ratios=(1.15, 1.0))
    left, right = halves
    _draw_overlays(left, data)
    grid = right.add_gridspec(3, 2, height_ratios=(1.35, 1.0, 0.9))
    leak, cosine = (right.add_subplot(grid[row, :]) for row in (1, 2))
    _draw_deletion(right.add_subplot(grid[0, 0]), right.add_subplot(grid[0, 1]), data["trained"]["curve"])
    _draw_figures(leak, data, "leak", 100.0)
    leak.set(title="Weight on empty super-pixels, which have no effect", xlabel="per cent of the absolute weight")
    leak.set_xlim(left=-0.5)
    _draw_figures(cosine, data, "cosine", 1.0)
    cosine.set(title="Stability: cosine between explanations from different points", xlabel="cosine")
    return figure


def _draw_deletion(whole: Any, apart: Any, curves: Mapping[str, Any]) -> None:
    """Probabilities while super-pixels are switched off, and how far those of other methods are from PRE's."""
    styles = {"most ink first": "--", "random": ":", LIME_SAME: "-.", LOGISTIC: "--"}
    for method, curve in curves.items():
        off, style = np.arange(len(curve)), {"color": COLOURS[method], "linestyle": styles.get(method, "-")}
        whole.plot(off, curve, linewidth=3.0 if method == PLAIN_PRE else 1.6, label=method, **style)
        if method in METHODS:
            apart.plot(off, np.asarray(curve) - np.asarray(curves[PLAIN_PRE]), linewidth=1.8, **style)
    end = len(curves[PLAIN_PRE]) - 1
    whole.annotate(
        "all off", (end, curves["random"][-1]), (-28, -24), textcoords="offset points", ha="right", fontsize=8,
        arrowprops={"arrowstyle": "-", "color": GREY},
    )  # fmt: skip
    whole.set(title="Deletion: probability of the class", ylim=(0.0, 1.04))
    apart.set(title="the same, less PRE's")
    for axes in (whole, apart):
        axes.title.set_fontsize(10.5)
        axes.set(xlabel="super-pixels switched off", xlim=(0, end))
        axes.grid(color="#e6e6e6")
        axes.set_axisbelow(True)
    figure = whole.get_figure()
    figure.legend(*whole.get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8.5, frameon=False)


def _draw_overlays(figure: Any, data: Mapping[str, Any]) -> None:
    """Every example in a row: the image, three methods, and PRE of the network with random weights."""
    examples = data["examples"]
    panels = figure.subplots(len(examples), 5)
    for axes, example in zip(panels, examples, strict=True):
        image = np.array(example["image"])
        cells = cells_of(image, data["grid"])
        axes[0].imshow(image, cmap="gray")
        axes[0].set(xticks=[], yticks=[], ylabel=f"digit {example['digit']}")
        for ax, key in zip(axes[1:], (PLAIN_PRE, SPARSE_PRE, LIME_OWN, "random"), strict=True):
            value = np.array(example[key], dtype=float)
            plot_superpixels(image, cells, value / (np.abs(value).max() or 1.0), limit=1.0, bar="", ax=ax)
    for ax, title in zip(panels[0], ("image", PLAIN_PRE, SPARSE_PRE, LIME_OWN, "PRE,\nrandom weights"), strict=True):
        ax.set_title(title, fontsize=10)
    words = "coefficient / largest of its picture: for the predicted class (blue) or against it (orange)"
    bar = figure.colorbar(
        panels[0][1].images[-1], ax=panels, location="bottom", alpha=1.0, shrink=0.6, aspect=40, pad=0.02
    )
    bar.set_label(words, fontsize=9)
    figure.suptitle(str(data["source"]), fontsize=11)


def _draw_figures(ax: Any, data: Mapping[str, Any], key: str, unit: float) -> None:
    """Means with intervals, one row for each method; hollow for random weights."""
    for i, method in enumerate(METHODS):
        for part, filled, shift in (("trained", True, -0.12), ("random", False, 0.18)):
            mean, low, high = data[part][key][method]
            if mean is None:
                continue
            colour = COLOURS[method]
            ax.plot([unit * low, unit * high], [i + shift] * 2, color=colour, linewidth=1.6)
            face = colour if filled else "white"
            ax.plot(unit * mean, i + shift, "o", color=face, markeredgecolor=colour, markersize=6)
    ax.set_yticks(range(len(METHODS)), METHODS, fontsize=9)
    ax.set_ylim(len(METHODS) - 0.5, -0.5)
    ax.grid(axis="x", color="#e6e6e6")
    ax.set_axisbelow(True)
    if data["random"][key][PLAIN_PRE][0] is not None:
        ax.plot([], [], "o", color=GREY, label="trained network")
        ax.plot([], [], "o", color="white", markeredgecolor=GREY, label="random weights")
        ax.legend(fontsize=8, frameon=False)
