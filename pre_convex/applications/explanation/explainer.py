"""explain() and explain_all(): the way from a black box and a point to a local classifier."""

from __future__ import annotations

import inspect
from typing import Any

from ...arrays import as_choice, as_count, as_flag
from ...checks import check_radius
from ...errors import DataError
from ...likelihoods import ClassProbability
from ...rng import Rng, as_generator, as_seed
from .answers import ask, neighbourhood
from .black_box import BlackBox
from .local_explanation import Explanation, make_explanation
from .perturbations import chance

__all__ = ["explain", "explain_all"]


def explain(
    predict_proba: Any,
    x: Any,
    perturbation: Any = None,
    n: int = 1000,
    *,
    label: Any = None,
    kernel_width: float | None = None,
    swap: bool = False,
    radius: float | str = 0.0,
    norm: float = 2,
    refit: bool = False,
    n_test: int = 500,
    kind: str = "hc3",
    floor: float = ClassProbability.floor,
    tol: float = 1e-8,
    rng: Rng = 0,
) -> Explanation:
    """Explain what a classifier says near x by a linear classifier with confidence intervals.

    Parameters
    ----------
    predict_proba : object or function
        A classifier with ``predict_proba``, or a function from points to probabilities, shape (n, classes) or (n,).
    x : array, series, frame of one row, text or image
        The point; its kind must suit the perturbation.
    perturbation : Perturbation, float, or array of shape (n, d)
        How points around x are made: ``Box``, ``Gaussian``, ``OnOff``, ``Tabular``, ``Words`` or ``SuperPixels``. A
        number is the half-width of a box. Rows are the points themselves, all of which are used.
    n : int
        Number of points; those that are given are all used.
    label : object, optional
        The class to explain, against all others; the likeliest at x when left out. Without ``classes_`` it is the
        index of a column.
    kernel_width : float, optional
        Weight points by exp(−d²/2h²), d the root mean square of their steps from x and h this width.
    swap : bool
        Exchange the roles of the two classes in PRE. Points whose local odds favour the explained class count for
        little as it stands, and for much when swapped.
    radius, norm : float, "auto" or "cv"; {2, inf, 1}
        ``norm=inf`` with a positive radius makes the coefficients sparse. Intervals are then refused.
    refit : bool
        Fit the features that a radius has chosen again, on new points and without a radius. Since those points had no
        part in the choice, the intervals are valid for the classifier that uses these features only.
    n_test : int
        New points on which fidelity is measured; 0 measures it on the points of the fit.
    kind : {"hc3", "centred"}
        Formula of the standard errors.
    floor : float
        Smallest probability; what a black box rules out is given this much.
    tol : float
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None
        Where the points come from; a generator moves on, None gives other points every time.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> data = rng.normal(size=(200, 2))
    >>> model = LogisticRegression().fit(data, data @ [1.0, -1.0] > 0.0)
    >>> found = explain(model, [0.2, 0.1], 0.5, label=True)
    >>> bool(np.allclose(found.coef, model.coef_[0])), bool(np.isclose(found.intercept, model.intercept_[0]))
    (True, True)
    """
    found = _explanations(
        predict_proba, x, perturbation, n,
        labels=[label], kernel_width=kernel_width, swap=swap, radius=radius, norm=norm, refit=refit, n_test=n_test,
        kind=kind, floor=floor, tol=tol, rng=rng,
    )  # fmt: skip
    return next(iter(found.values()))


def explain_all(
    predict_proba: Any, x: Any, perturbation: Any = None, n: int = 1000, **options: Any
) -> dict[Any, Explanation]:
    """One :class:`Explanation` for each class, against all others, from the same points.

    Parameters
    ----------
    predict_proba, x, perturbation, n, **options
        As in :func:`explain`, without a label.

    Returns
    -------
    dict
        From label to explanation, in the order of the classes.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> model = GaussianNB().fit([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "b", "b", "c", "c"])
    >>> {label: found.coef.round(1).item() for label, found in explain_all(model, [2.5], 0.5).items()}
    {'a': -8.0, 'b': -0.1, 'c': 8.0}
    """
    known = list(inspect.signature(explain).parameters)
    for name in options:
        if name not in known:
            raise DataError(f"{name}: is not an option; explain takes {', '.join(known)}")
    bound = inspect.signature(explain).bind(predict_proba, x, perturbation, n, **options)
    bound.apply_defaults()
    if bound.arguments.pop("label") is not None:
        raise DataError("label: all classes are explained here; use explain() for one of them")
    return _explanations(**bound.arguments, labels=None)


def _explanations(
    predict_proba: Any,
    x: Any,
    perturbation: Any,
    n: int,
    *,
    labels: list[Any] | None,
    kernel_width: float | None,
    radius: float | str,
    refit: bool,
    n_test: int,
    rng: Rng,
    **terms: Any,
) -> dict[Any, Explanation]:
    """Explanations of the labels, or of all of them, from one set of points."""
    seed = as_seed(rng)
    n_test, refit = as_count(n_test, "n_test", 0), as_flag(refit, "refit")
    as_choice(terms["kind"], "kind", ("hc3", "centred"))
    as_flag(terms["swap"], "swap")
    radius = radius if isinstance(radius, str) else check_radius(radius)
    terms["floor"] = chance(terms["floor"], "floor")
    box = BlackBox(predict_proba)
    near, n, given = neighbourhood(perturbation, x, n)
    if given and refit:
        raise DataError("refit: needs new points; points that are given cannot be drawn again")
    if refit and radius == 0.0:
        raise DataError("refit: needs a positive radius that chooses features; use radius='auto' with norm=inf")
    k = len(near.names)
    if radius == 0.0 and n <= k + 1:
        raise DataError(
            f"n: {n} points cannot tell {k} features apart; use more than {k + 1}, better ten times as many, or "
            "radius='auto' with norm=inf"
        )
    generator = as_generator(seed)
    here = box.around(near, near.origin[None, :], generator)
    train = ask(box, near, n, kernel_width, generator)
    again = ask(box, near, n, kernel_width, generator) if refit else None
    test = None if given or n_test == 0 else ask(box, near, n_test, kernel_width, generator)
    if labels is None:
        labels = box.classes or list(range(here.shape[1]))
    found = {}
    for each in labels:
        index, label = box.column(each, here)
        options = {"radius": radius, "rng": seed, **terms}
        found[label] = make_explanation(label, index, float(here[0, index]), near, train, again, test, options)
    return found
