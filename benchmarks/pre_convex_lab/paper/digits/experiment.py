"""The experiment ``digits``: explanations of a trained network and of networks with random weights, by PRE and LIME."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pre_convex._internal.threads import warnings_ignored
from pre_convex._internal.typing import Array, Index
from pre_convex.applications.explanation import SuperPixels, explain
from pre_convex.applications.explanation.superpixels import grid_labels
from pre_convex.plots import plot_superpixels
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY, new_figure

from ..intervals import bootstrap_interval
from ..local_classifiers import lime_fit, lime_module, soft_line
from ..record import Finding, Outcome, Setting
from .mnist import read_mnist, read_openml

if TYPE_CHECKING:
    from pre_convex.plots.canvas import Figure

TITLE = "Does PRE select the super-pixels that the network uses, and does LIME?"

PLAIN_PRE, SPARSE_PRE = "PRE", "PRE, sparse"
LIME_OWN, LIME_SAME, LOGISTIC = "LIME", "LIME, same points", "soft logistic"
METHODS = (PLAIN_PRE, SPARSE_PRE, LIME_OWN, LIME_SAME, LOGISTIC)
COLOURS = dict(zip(METHODS, (BLUE, SKY, ORANGE, AMBER, PINK), strict=True)) | {"most ink first": GREEN, "random": GREY}
SIX, NINE = 6, 9
#: width of LIME's kernel for images, its default
LIME_WIDTH = 0.25
#: share of selected super-pixels with ink that counts as "parts of the digit", and smallest difference that matters
INK, MATTERS = 0.9, 0.05
#: smallest difference of leakages, cosines or mean probabilities that the verdict reports
SMALLEST = 0.001


def load(setting: Setting) -> tuple[str, tuple[int, int], Array, Any, Array, Any]:
    """Name of the data, grid of super-pixels, and the sixes and nines: training images, labels, test images, labels."""
    if setting.mnist is None:
        from sklearn.datasets import load_digits

        images, labels = load_digits(return_X_y=True)
        order = setting.rng(0).permutation(len(labels))
        cut = len(order) * 2 // 3
        splits = [(images[rows].reshape(-1, 8, 8) / 16.0, labels[rows]) for rows in (order[:cut], order[cut:])]
        name, grid = "scikit-learn's digits, 8 × 8 pixels", (8, 8)
    else:
        read = read_openml() if str(setting.mnist) == "openml" else read_mnist(setting.mnist)
        splits = [(read[0], read[1]), (read[2], read[3])]
        name, grid = "MNIST, 28 × 28 pixels", (7, 7)
    chosen = [np.isin(labels, (SIX, NINE)) for _, labels in splits]
    train, test = ((images[rows], labels[rows]) for (images, labels), rows in zip(splits, chosen, strict=True))
    return name, grid, *train, *test


def train(images: Array, labels: Any, seed: int, epochs: int) -> Any:
    """A trained network with one hidden layer of 64 units."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    with warnings_ignored(ConvergenceWarning):
        return MLPClassifier((64,), max_iter=epochs, random_state=seed).fit(images.reshape(len(images), -1), labels)


def with_random_weights(network: Any, rng: np.random.Generator) -> Any:
    """The network with random weights (Glorot initialisation) instead of trained ones."""
    from copy import deepcopy

    other = deepcopy(network)
    other.coefs_ = [rng.uniform(-1.0, 1.0, w.shape) * np.sqrt(6.0 / sum(w.shape)) for w in network.coefs_]
    other.intercepts_ = [np.zeros_like(b) for b in network.intercepts_]
    return other


def coefficients(network: Any, image: Array, grid: tuple[int, int], n: int, seed: int) -> tuple[dict[str, Array], Any]:
    """Coefficients of every method for the predicted class, and which of PRE's differ significantly from zero."""
    superpixels = SuperPixels(grid, flat=True)
    plain = explain(network, image, superpixels, n, n_test=0, rng=seed)
    sparse = explain(network, image, superpixels, n, n_test=0, rng=seed, radius="auto", norm=np.inf, label=plain.label)
    interval = plain.conf_int()
    labels = superpixel_labels(image, grid)
    index = list(network.classes_).index(plain.label)
    proba = np.column_stack([1.0 - plain.answers, plain.answers])
    by_method = {
        PLAIN_PRE: plain.coef,
        SPARSE_PRE: sparse.coef,
        LIME_OWN: lime_package(network, image, labels, index, n, seed),
        LIME_SAME: lime_same_points(plain.points, proba),
        LOGISTIC: soft_line(plain.points, proba)[:-1],
    }
    return by_method, (interval.lower > 0.0) | (interval.upper < 0.0)


def superpixel_labels(image: Any, grid: Any) -> Index:
    """Number of the super-pixel of every pixel."""
    height, width = image.shape
    return grid_labels(height, width, *grid)


def lime_package(network: Any, image: Array, labels: Index, index: int, n: int, seed: int) -> Array:
    """Coefficients from the lime package, with its own points, kernel and ridge, on our super-pixels."""
    lime_image = lime_module("lime_image")

    def answer(images: Array) -> Array:
        return np.asarray(network.predict_proba(images[..., 0].reshape(len(images), -1)))

    with contextlib.redirect_stderr(io.StringIO()):  # hides lime's progress bar
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
    """Coefficients from LIME's kernel and ridge, on PRE's points."""
    cosine = np.sqrt(points.mean(axis=1))  # of a row of zeros and ones with a row of ones
    return lime_fit(points, proba, 1.0 - cosine, lambda d: np.exp(-0.5 * np.square(d / LIME_WIDTH)))[:-1]


def deletion(network: Any, image: Array, labels: Index, order: Any) -> Array:
    """Probability of the predicted class as super-pixels are switched off one after another."""
    images = [image]
    for label in order:
        images.append(np.where(labels == label, 0.0, images[-1]))
    P = network.predict_proba(np.array(images).reshape(len(images), -1))
    return np.asarray(P[:, int(np.argmax(P[0]))])


def mean_cosine(coefs: Iterable[Array]) -> float:
    """Mean cosine over all pairs of coefficient vectors."""
    units = np.array([c / (np.linalg.norm(c) or 1.0) for c in coefs])
    return float((units @ units.T)[np.triu_indices(len(units), 1)].mean())


def image_interval(values: Array, rng: np.random.Generator) -> list[float]:
    """Mean over images with its 95 % interval, from a bootstrap of the images."""
    replicates = values[rng.integers(0, len(values), (2000, len(values)))].mean(axis=1)
    return bootstrap_interval(np.append(values.mean(), replicates))


def examine(
    networks: Sequence[Any], images: Array, grid: tuple[int, int], n: int, seeds: int, setting: Setting, what: str
) -> dict[str, Any]:
    """Explain every image ``seeds`` times with new points, for its own network, and measure every method.

    Parameters
    ----------
    networks, images : sequences of the same length
    grid : tuple of int
        Rows and columns of super-pixels.
    n : int
        Points of an explanation.
    seeds : int
        Explanations of each image.
    setting : Setting
    what : str
        Label of the progress bar.

    Returns
    -------
    dict
        For each method and image: ``leak`` (share of weight on super-pixels without ink), ``cosine`` (between
        explanations) and ``curves`` (deletion); for each image ``first`` (coefficients of the first explanation),
        ``false`` (share of super-pixels without ink that differ significantly from zero) and ``chosen_ink`` (share of
        the super-pixels selected by sparse PRE that have ink).
    """
    labels = superpixel_labels(images[0], grid)
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
        explanations = [
            coefficients(network, image, grid, n, int(setting.rng(4, i, s).integers(2**31))) for s in range(seeds)
        ]
        first.append(explanations[0][0])
        false.append(float(np.mean([significant[empty].mean() for _, significant in explanations])))
        chosen = [by_method[SPARSE_PRE] != 0.0 for by_method, _ in explanations]
        chosen_ink.append(float(np.mean([float(np.sum(c & ~empty)) / max(int(c.sum()), 1) for c in chosen])))
        for method in METHODS:
            coefs = [by_method[method] for by_method, _ in explanations]
            leak[method].append(float(np.mean([np.abs(c)[empty].sum() / np.abs(c).sum() for c in coefs])))
            cosine[method].append(mean_cosine(coefs) if seeds > 1 else np.nan)
            curves[method].append(deletion(network, image, labels, np.argsort(-coefs[0], kind="stable")))
        curves["most ink first"].append(deletion(network, image, labels, np.argsort(-ink, kind="stable")))
        random_orders = [deletion(network, image, labels, rng.permutation(cells)) for _ in range(5)]
        curves["random"].append(np.mean(random_orders, axis=0))
    return {"leak": leak, "cosine": cosine, "curves": curves, "first": first, "false": false, "chosen_ink": chosen_ink}


def run(setting: Setting) -> Outcome:
    """Train networks, explain their predictions, and compare the methods."""
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
        "trained": summarise(trained, setting),
        "random": summarise(untrained, setting),
        "ink_less_random": image_interval(
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
    return Outcome(tuple(find(data)), claims(data), data)


def summarise(found: dict[str, Any], setting: Setting) -> dict[str, Any]:
    """Means over images with their intervals, and mean deletion curves."""
    rng = setting.rng(3)
    by_image = {
        "leak": {m: np.array(v) for m, v in found["leak"].items()},
        "cosine": {m: np.array(v) for m, v in found["cosine"].items()},
        "area": {m: np.array([curve.mean() for curve in curves]) for m, curves in found["curves"].items()},
    }
    means = {key: {m: image_interval(v, rng) for m, v in values.items()} for key, values in by_image.items()}
    return {
        **means,
        "pre_less": {
            key: {m: image_interval(values[PLAIN_PRE] - values[m], rng) for m in METHODS if m != PLAIN_PRE}
            for key, values in by_image.items()
        },
        "curve": {m: np.mean(curves, axis=0) for m, curves in found["curves"].items()},
        "false": image_interval(np.array(found["false"]), rng),
        "chosen_ink": image_interval(np.array(found["chosen_ink"]), rng),
    }


def _percent(interval: Any) -> str:
    """A share with its interval, in per cent."""
    digits = 1 if abs(interval[0]) > 0.01 else 2
    mean, low, high = (f"{100 * value:.{digits}f}".replace("-", "−") for value in interval)
    return f"{mean} % [{low}, {high}]"


def _difference(interval: Any, unit: str = "") -> str:
    """A difference with its interval, in per cent if a unit is given."""
    mean, low, high = (f"{100 * value:+.1f}" if unit else f"{value:+.4f}" for value in interval)
    mean, low, high = (text.replace("-", "−") for text in (mean, low, high))
    return f"{mean} {unit}".strip() + f" [{low}, {high}]"


def _number(interval: Any) -> str:
    """A number with its interval."""
    return "{:.3f} [{:.3f}, {:.3f}]".format(*interval).replace("-", "−")


def find(data: dict[str, Any]) -> Iterable[Finding]:
    """The findings, with 95 % intervals over images; differences are paired."""
    trained, untrained, less = data["trained"], data["random"], data["trained"]["pre_less"]
    ink = trained["chosen_ink"]
    yield Finding("accuracy of the network", f"{100 * data['accuracy']:.1f} % on {data['source']}")
    yield Finding(
        "super-pixels selected by sparse PRE that have ink", _percent(ink), "parts of the digit",
        "holds" if ink[1] > INK else "does not hold",
    )  # fmt: skip
    yield Finding(
        "the same with random weights", _percent(untrained["chosen_ink"]), "so they matter to the network",
        judge_ink(data["ink_less_random"]),
    )  # fmt: skip
    for key, what, text in (("leak", "leakage", _percent), ("cosine", "cosine", _number)):
        for method in METHODS:
            yield Finding(f"{what}: {method}", text(trained[key][method]))
        for method in (LIME_OWN, LOGISTIC):
            yield Finding(f"{what}: PRE − {method}", _difference(less[key][method], "%" * (key == "leak")))
    yield Finding("empty super-pixels significant at 5 %", _percent(trained["false"]))
    for method in (*METHODS, "most ink first", "random"):
        yield Finding(f"deletion: {method}", _number(trained["area"][method]))
    for method in (LIME_OWN, LOGISTIC):
        yield Finding(f"deletion: PRE − {method}", _difference(less["area"][method]))


def judge_ink(difference: Sequence[float]) -> str:
    """Whether the super-pixels selected for a trained network have more ink than those selected for random ones."""
    _, low, high = difference
    if low > MATTERS:
        return "holds"
    return "does not hold: the same for random networks" if high < MATTERS else "does not hold clearly"


def below(difference: Sequence[float]) -> bool:
    """Whether a difference is significantly below zero, and large enough to matter."""
    mean, _, high = difference
    return high < 0.0 and abs(mean) >= SMALLEST


def claims(data: dict[str, Any]) -> dict[str, bool]:
    """What the numbers say of explanations by PRE, alone and beside LIME and soft logistic regression."""
    trained, less = data["trained"], data["trained"]["pre_less"]
    found = {
        "the super-pixels that PRE selects lie on the digit": trained["chosen_ink"][1] > INK,
        "with random weights of the network far fewer of them do": data["ink_less_random"][1] > MATTERS,
    }
    for method, name in ((LIME_OWN, "LIME"), (LOGISTIC, "soft logistic regression")):
        found[f"PRE gives less weight to empty super-pixels than {name}"] = below(less["leak"][method])
        found[f"PRE is more stable than {name}"] = below(
            [-value for value in (less["cosine"][method][0], less["cosine"][method][2], less["cosine"][method][1])]
        )
        found[f"PRE orders super-pixels better than {name}"] = below(less["area"][method])
    return found


def draw(data: Mapping[str, Any]) -> Figure:
    """Draw overlays of four images, deletion curves, leakage and stability."""
    figure = new_figure(14.0, 7.4)
    halves: Any = figure.subfigures(1, 2, width_ratios=(1.15, 1.0))
    left, right = halves
    _draw_overlays(left, data)
    grid = right.add_gridspec(3, 2, height_ratios=(1.35, 1.0, 0.9))
    leak, cosine = (right.add_subplot(grid[row, :]) for row in (1, 2))
    _draw_deletion(right.add_subplot(grid[0, 0]), right.add_subplot(grid[0, 1]), data["trained"]["curve"])
    _draw_intervals(leak, data, "leak", 100.0)
    leak.set(title="Weight on empty super-pixels, which have no effect", xlabel="per cent of the absolute weight")
    leak.set_xlim(left=-0.5)
    _draw_intervals(cosine, data, "cosine", 1.0)
    cosine.set(title="Stability: cosine between explanations from different points", xlabel="cosine")
    return figure


def _draw_deletion(left: Any, right: Any, curves: Mapping[str, Any]) -> None:
    """Draw probabilities as super-pixels are switched off, and their differences from PRE's."""
    styles = {"most ink first": "--", "random": ":", LIME_SAME: "-.", LOGISTIC: "--"}
    for method, curve in curves.items():
        off, style = np.arange(len(curve)), {"color": COLOURS[method], "linestyle": styles.get(method, "-")}
        left.plot(off, curve, linewidth=3.0 if method == PLAIN_PRE else 1.6, label=method, **style)
        if method in METHODS:
            right.plot(off, np.asarray(curve) - np.asarray(curves[PLAIN_PRE]), linewidth=1.8, **style)
    end = len(curves[PLAIN_PRE]) - 1
    left.annotate(
        "all off", (end, curves["random"][-1]), (-28, -24), textcoords="offset points", ha="right", fontsize=8,
        arrowprops={"arrowstyle": "-", "color": GREY},
    )  # fmt: skip
    left.set(title="Deletion: probability of the class", ylim=(0.0, 1.04))
    right.set(title="the same, minus PRE's")
    for axes in (left, right):
        axes.title.set_fontsize(10.5)
        axes.set(xlabel="super-pixels switched off", xlim=(0, end))
        axes.grid(color=LIGHT)
        axes.set_axisbelow(True)
    figure = left.get_figure()
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8.5, frameon=False)


def _draw_overlays(figure: Any, data: Mapping[str, Any]) -> None:
    """Draw a row for each example: the image, three methods, and PRE for random weights."""
    examples = data["examples"]
    panels = figure.subplots(len(examples), 5)
    for axes, example in zip(panels, examples, strict=True):
        image = np.array(example["image"])
        cells = superpixel_labels(image, data["grid"])
        axes[0].imshow(image, cmap="gray")
        axes[0].set(xticks=[], yticks=[], ylabel=f"digit {example['digit']}")
        for ax, key in zip(axes[1:], (PLAIN_PRE, SPARSE_PRE, LIME_OWN, "random"), strict=True):
            value = np.array(example[key], dtype=float)
            plot_superpixels(image, cells, value / (np.abs(value).max() or 1.0), limit=1.0, bar="", ax=ax)
    for ax, title in zip(panels[0], ("image", PLAIN_PRE, SPARSE_PRE, LIME_OWN, "PRE,\nrandom weights"), strict=True):
        ax.set_title(title, fontsize=10)
    label = "coefficient / largest of its panel: for the predicted class (blue) or against it (orange)"
    bar = figure.colorbar(
        panels[0][1].images[-1], ax=panels, location="bottom", alpha=1.0, shrink=0.6, aspect=40, pad=0.02
    )
    bar.set_label(label, fontsize=9)
    figure.suptitle(str(data["source"]), fontsize=11)


def _draw_intervals(ax: Any, data: Mapping[str, Any], key: str, unit: float) -> None:
    """Draw means with intervals, a row for each method; hollow markers are for random weights."""
    for i, method in enumerate(METHODS):
        for weights, filled, shift in (("trained", True, -0.12), ("random", False, 0.18)):
            mean, low, high = data[weights][key][method]
            if mean is None:
                continue
            colour = COLOURS[method]
            ax.plot([unit * low, unit * high], [i + shift] * 2, color=colour, linewidth=1.6)
            fill = colour if filled else "white"
            ax.plot(unit * mean, i + shift, "o", color=fill, markeredgecolor=colour, markersize=6)
    ax.set_yticks(range(len(METHODS)), METHODS, fontsize=9)
    ax.set_ylim(len(METHODS) - 0.5, -0.5)
    ax.grid(axis="x", color=LIGHT)
    ax.set_axisbelow(True)
    if data["random"][key][PLAIN_PRE][0] is not None:
        ax.plot([], [], "o", color=GREY, label="trained network")
        ax.plot([], [], "o", color="white", markeredgecolor=GREY, label="random weights")
        ax.legend(fontsize=8, frameon=False)
