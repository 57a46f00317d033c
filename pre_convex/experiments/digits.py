"""Digits: what a two-layer network sees in a 6 or a 9, by PRE and by LIME, and in a network with random weights."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..applications.explanation import SuperPixels, explain
from ..applications.explanation.superpixels import grid_labels
from ..entropy import Array, Index, exp
from ..plots import plot_superpixels
from ..plots.canvas import AMBER, BLUE, GREEN, GREY, ORANGE, PINK, SKY, new_figure
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

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
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
    found = explain(network, image, recipe, n, n_test=0, random_state=seed)
    sparse = explain(
        network, image, recipe, n, n_test=0, random_state=seed, radius="auto", norm=np.inf, label=found.label
    )
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
    network: Any, images: Array, grid: tuple[int, int], n: int, seeds: int, setting: Setting, what: str
) -> dict[str, Any]:
    """Figures of every method on every image."""
    labels = cells_of(images[0], grid)
    cells = np.arange(int(labels.max()) + 1)
    rng = setting.rng(2)
    leak: dict[str, list[float]] = {m: [] for m in METHODS}
    cosine: dict[str, list[float]] = {m: [] for m in METHODS}
    curves: dict[str, list[Array]] = {m: [] for m in COLOURS}
    first: list[dict[str, Array]] = []
    false, chosen_ink = [], []
    for image in setting.track(images, what, len(images)):
        ink = np.array([image[labels == cell].sum() for cell in cells])
        empty = ink == 0.0
        found = [coefficients(network, image, grid, n, 1000 * setting.seed + s) for s in range(seeds)]
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
    random_network = with_random_weights(network, setting.rng(1))
    trained = examine(network, shown, grid, n, seeds, setting, "trained network")
    untrained = examine(random_network, shown, grid, n, 1, setting, "random weights")
    data = {
        "source": name,
        "grid": grid,
        "points": n,
        "images": len(shown),
        "seeds": seeds,
        "accuracy": accuracy,
        "trained": figures(trained, setting),
        "random": figures(untrained, setting),
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
        "area_less_lime": {m: interval_of(areas[m] - areas[LIME_OWN], rng) for m in (PLAIN_PRE, SPARSE_PRE, LOGISTIC)},
        "curve": {m: np.mean(curves, axis=0) for m, curves in found["curves"].items()},
        "false": interval_of(np.array(found["false"]), rng),
        "chosen_ink": interval_of(np.array(found["chosen_ink"]), rng),
    }


def share(figure: Any) -> str:
    """A share with its interval."""
    digits = 1 if figure[0] > 0.01 else 2
    mean, low, high = (f"{100 * part:.{digits}f}" for part in figure)
    return f"{mean} % [{low}, {high}]"


def number(figure: Any) -> str:
    """A number with its interval."""
    return "{:.3f} [{:.3f}, {:.3f}]".format(*figure)


def findings(data: dict[str, Any]) -> Iterable[Finding]:
    """Key figures, with 95 % intervals over images."""
    trained, untrained = data["trained"], data["random"]
    on, on_random = trained["chosen_ink"], untrained["chosen_ink"]
    yield Finding("network's accuracy", f"{100 * data['accuracy']:.1f} % on {data['source']}")
    yield Finding(
        "selected (sparse) that hold ink", share(on), "parts of the digit", "holds" if on[1] > 0.9 else "does not hold"
    )
    useless = on_random[0] > on[0] - 0.05
    yield Finding(
        "the same, random weights", share(on_random), "so they matter to the network",
        "does not hold: any network gives it" if useless else "holds",
    )  # fmt: skip
    for key, what, text in (("leak", "leakage", share), ("cosine", "cosine", number)):
        for method in METHODS:
            yield Finding(f"{what}: {method}", text(trained[key][method]))
    yield Finding("empty, told apart from 0", f"{share(trained['false'])}; 5 % is allowed")
    for method in (*METHODS, "most ink first", "random"):
        yield Finding(f"deletion: {method}", number(trained["area"][method]))


def verdict(data: dict[str, Any]) -> str:
    """What the figures say together."""
    trained, untrained = data["trained"], data["random"]
    leak, cosine, less = trained["leak"], trained["cosine"], trained["area_less_lime"][PLAIN_PRE]
    parts = ["the selected super-pixels lie on the digit" * (trained["chosen_ink"][1] > 0.9)]
    if untrained["chosen_ink"][0] > trained["chosen_ink"][0] - 0.05:
        parts.append("with random weights they do as well, so that this is no evidence")
    if leak[PLAIN_PRE][2] < leak[LIME_OWN][1] and cosine[PLAIN_PRE][1] > cosine[LIME_OWN][2]:
        parts.append("PRE leaks less than LIME and is steadier")
        if leak[LOGISTIC][0] < 1.2 * leak[PLAIN_PRE][0]:
            parts.append(
                "logistic regression on soft labels is as good, so that the log-odds and not PRE make the gain"
            )
    if abs(less[0]) < 0.01:
        parts.append("both rank the super-pixels that matter alike")
    return "; ".join(part for part in parts if part)


def draw(data: Mapping[str, Any]) -> Figure:
    """Overlays of four images beside deletion curves, leakage and stability."""
    figure = new_figure(14.0, 7.4)
    halves: Any = figure.subfigures(1, 2, width_ratios=(1.15, 1.0))
    left, right = halves
    _draw_overlays(left, data)
    curves, leak, cosine = right.subplots(3, 1, height_ratios=(1.35, 1.0, 0.9))
    for method, curve in data["trained"]["curve"].items():
        off = np.arange(len(curve))
        wide = 3.2 if method == PLAIN_PRE else 1.6
        style = {"most ink first": "--", "random": ":", LIME_SAME: "-.", LOGISTIC: "--"}.get(method, "-")
        curves.plot(off, curve, color=COLOURS[method], linestyle=style, linewidth=wide, label=method)
    curves.set(
        title="Deletion: probability of the predicted class",
        xlabel="super-pixels switched off, the most favourable first", ylabel="probability", ylim=(0.0, 1.02),
        xlim=(0, len(data["trained"]["curve"][PLAIN_PRE]) - 1),
    )  # fmt: skip
    curves.legend(fontsize=8, frameon=False, ncols=2, loc=(0.28, 0.17))
    _draw_figures(leak, data, "leak", 100.0)
    leak.set(title="Weight on empty super-pixels, which have no effect", xlabel="per cent of the absolute weight")
    leak.set_xlim(left=-0.5)
    _draw_figures(cosine, data, "cosine", 1.0)
    cosine.set(title="Stability: cosine between explanations from different points", xlabel="cosine")
    return figure


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
            plot_superpixels(image, cells, np.array(example[key], dtype=float), bar="", ax=ax)
    for ax, title in zip(panels[0], ("image", PLAIN_PRE, SPARSE_PRE, LIME_OWN, "PRE,\nrandom weights"), strict=True):
        ax.set_title(title, fontsize=10)
    figure.suptitle(
        f"{data['source']}\nblue: for the predicted class, orange: against it; each to its own largest", fontsize=11
    )


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
