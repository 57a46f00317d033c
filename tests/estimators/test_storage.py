"""Fits on disk: what comes back, and what is refused."""

import contextlib
import json
import pickle
from collections import Counter
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from zoo import samples

import pre_convex as pre
from pre_convex import plots


def test_a_loaded_fit_is_the_saved_one(tmp_path):
    x_p, x_q, l_p, l_q = samples(100)
    fit = pre.PosteriorRatio("polynomial", norm=np.inf, radius=0.05, solver="CLARABEL").fit(x_p, x_q, l_p, l_q)
    copy = pre.load(pre.save(fit, tmp_path / "fit.npz"))
    np.testing.assert_array_equal(copy.log_ratio(x_q), fit.log_ratio(x_q))
    assert str(copy.summary()) == str(fit.summary())
    assert copy.get_params()["norm"] == np.inf
    assert list(tmp_path.iterdir()) == [tmp_path / "fit.npz"]
    labelled = pre.RatioClassifier().fit(np.concatenate([x_p, x_q]), np.repeat([1, 0], 100))
    twin = pre.load(pre.save(labelled, tmp_path / "classifier.npz"))
    np.testing.assert_array_equal(twin.predict_proba(x_q), labelled.predict_proba(x_q))


def test_a_plugin_with_gaussian_likelihoods_can_be_saved(tmp_path):
    x_p, x_q, *_ = samples(60)
    likelihood = pre.Gaussian([0.2, 0.1], covariance=[[1.0, 0.3], [0.3, 2.0]])
    fit = pre.PluginRatio().fit(x_p, x_q, likelihood, None)
    copy = pre.load(pre.save(fit, tmp_path / "plugin.npz"))
    np.testing.assert_array_equal(copy.log_ratio(x_q), fit.log_ratio(x_q))
    assert copy.divergence_ == fit.divergence_


def test_a_loaded_kernel_takes_new_landmarks_when_it_is_refitted(tmp_path):
    x_p, x_q = (x[:, :1] for x in samples(40)[:2])
    fit = pre.KLIEP("kernel", radius="cv", cv=3).fit(x_p, x_q)
    copy = pre.load(pre.save(fit, tmp_path / "kernel.npz"))
    np.testing.assert_array_equal(copy.radius_choice_.mean, fit.radius_choice_.mean)
    again = clone(copy).fit(x_p + 50.0, x_q + 50.0)
    assert again.features_.points.min() > 40.0


def test_a_fit_with_automatic_features_can_be_saved(tmp_path):
    x_p, x_q, *_ = samples(100)
    fit = pre.KLIEP("auto").fit(x_p, x_q)
    copy = pre.load(pre.save(fit, tmp_path / "auto.npz"))
    np.testing.assert_array_equal(copy.log_ratio(2.0 * x_q), fit.log_ratio(2.0 * x_q))
    assert (copy.features, copy.feature_choice_) == ("auto", None)


def no_npz(path):
    path.write_bytes(b"not a file of ours")


def pickled_object(path):
    np.savez(path, header=np.array([object()], dtype=object))


def compressed(path):
    np.savez_compressed(path, header=np.zeros(10**6))


def absent(path):
    """Write nothing."""


@pytest.mark.parametrize("write", [no_npz, pickled_object, compressed, absent])
def test_files_that_are_not_fits_are_refused(tmp_path, write):
    path = tmp_path / "bad.npz"
    write(path)
    with pytest.raises(pre.DataError) as error:
        pre.load(path)
    assert error.value.argument == "path"


def test_fits_with_functions_cannot_be_saved(tmp_path):
    x_p, x_q, *_ = samples(50)
    for fit in (
        pre.PluginRatio().fit(x_p, x_q, lambda x: x[:, 0]),
        pre.KLIEP(penalty=lambda d: cp.norm1(d)).fit(x_p, x_q),
    ):
        with pytest.raises(pre.DataError, match="function") as error:
            pre.save(fit, tmp_path / "fit.npz")
        assert error.value.argument == "fit"
    with pytest.raises(pre.DataError) as error:
        pre.save(pre.KLIEP().fit(x_p, x_q), tmp_path / "no" / "folder.npz")
    assert error.value.argument == "path"
    assert list(tmp_path.iterdir()) == []


def stored_fits():
    """One fit of every kind, with all that a header may hold."""
    x_p, x_q, *_ = samples(40)
    settings = pre.Settings(max_iter=90)
    pandas = pytest.importorskip("pandas")
    frames = (pandas.DataFrame(x, columns=["a", "b"]) for x in (x_p + 0.5, x_q))
    both = pre.Polynomial(degree=3) + pre.Kernel(landmarks=3)
    return {
        "PosteriorRatio": pre.PosteriorRatio("polynomial", radius="auto", solver="CLARABEL", settings=settings).fit(
            *frames
        ),
        "KLIEP": pre.KLIEP(both, radius="cv", cv=3, random_state=[1, 2]).fit(x_p, x_q),
        "PluginRatio": pre.PluginRatio().fit(x_p, x_q, pre.Gaussian([0.2, 0.1], [1.0, 2.0]), None),
        "RatioClassifier": pre.RatioClassifier(norm=np.inf, radius=0.01).fit(
            np.concatenate([x_p, x_q]), np.repeat(["p", "q"], 40)
        ),
    }


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Header and arrays of the stored fits."""
    found, folder = {}, tmp_path_factory.mktemp("fits")
    for name, fit in stored_fits().items():
        with np.load(pre.save(fit, folder / f"{name}.npz")) as file:
            arrays = {key: file[key] for key in file.files}
        found[name] = json.loads(str(arrays.pop("header"))), arrays
    return found


def write(path, header, arrays):
    np.savez(path, **arrays, header=np.array(json.dumps(header)))
    return path


def places(value, path=()):
    """Paths to all entries of nested JSON."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    for key, entry in inner:
        yield from places(entry, (*path, key))


#: values that take the place of an entry of a header
VALUES = (
    *(
        None,
        True,
        -1,
        0,
        1,
        3,
        0.5,
        1e308,
        10**9,
        10**30,
        float("nan"),
        float("inf"),
        "",
        "x",
        "inf",
        "auto",
        "OPTIMAL",
    ),
    *([], [1], ["a", "a"], [[]], {}, {"x": 1}, {"name": "linear"}),
    *({"array": name} for name in ("delta", "mu", "none")),
)


def edited(header, path, value):
    """The header with one entry replaced, removed if the value is ``...``, or extended if it is a function."""
    copy = json.loads(json.dumps(header))
    place = copy
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    elif callable(value):
        place[path[-1]] = value(place[path[-1]])
    else:
        place[path[-1]] = value
    return copy


def longer(value):
    """The same with one entry more."""
    if isinstance(value, dict):
        return {**value, "extra": 1}
    return [*value, value[-1]] if isinstance(value, list) and value else [value]


def use(fit, folder):
    """Everything that a loaded fit can be asked; refusals of the package are answers too."""
    x = np.array([[0.3, -0.2], [0.1, 0.4]])
    questions = (
        lambda: fit.log_ratio(x),
        lambda: fit.mu_,
        lambda: [show(report) for report in [fit.summary()] for show in (str, type(report)._repr_html_)],
        lambda: (repr(fit), repr(fit.solution_), [str(stage) for stage in fit.solution_.trace]),
        lambda: fit.inference(),
        lambda: fit.score(*((x, ["p", "q"]) if isinstance(fit, pre.RatioClassifier) else (x, x + 0.1))),
        lambda: fit.predict(x) if isinstance(fit, pre.RatioClassifier) else None,
        lambda: pickle.loads(pickle.dumps(fit)),
        lambda: pre.load(pre.save(fit, folder / "again.npz", overwrite=True)),
        lambda: clone(fit),
    )
    for question in questions:
        with contextlib.suppress(pre.PreConvexError):
            question()


@pytest.mark.parametrize("name", ["PosteriorRatio", "KLIEP", "PluginRatio", "RatioClassifier"])
def test_an_edited_header_is_refused_or_harmless(name, parts, tmp_path):
    header, arrays = parts[name]
    refused, accepted = 0, Counter()
    for path, value in product(list(places(header))[1:], (..., longer, *VALUES)):
        now = edited(header, path, value)
        if json.dumps(now) == json.dumps(header):
            continue
        try:
            fit = pre.load(write(tmp_path / "edited.npz", now, arrays))
            accepted[path] += 1
            if accepted[path] <= 3:  # all questions take time
                use(fit, tmp_path)
            if path[0] == "choice" and fit.radius_choice_ is not None and accepted[path] == 1:
                plots.plot_radius_path(fit)
        except pre.DataError:  # from load: use catches those of the questions
            refused += 1
        except Exception as error:
            error.add_note(f"{path} = {value!r}")
            raise
    assert refused > 500


def test_a_file_whose_solution_was_edited_is_not_called_optimal(parts, tmp_path):
    for header, arrays in parts.values():
        for change in ({"delta": arrays["delta"] + 0.1}, {"delta": -arrays["delta"]}, {"delta": 0.0 * arrays["delta"]}):
            fit = pre.load(write(tmp_path / "edited.npz", header, {**arrays, **change}))
            assert fit.solution_.status is pre.Status.INACCURATE
            assert fit.solution_.gap > 1e-6
            assert "inaccurate" in str(fit.summary())


def test_a_certificate_and_weights_that_were_edited_are_computed_again(parts, tmp_path):
    for name, (header, arrays) in parts.items():
        changed = edited(header, ("solution", "certificate", "gap"), 1e-30)
        other = {**arrays, "mu": np.full(len(arrays["mu"]), 1.0 / len(arrays["mu"]))}
        fit = pre.load(write(tmp_path / f"{name}.npz", changed, other))
        assert fit.solution_.status.ok
        assert 1e-30 < fit.solution_.gap < 1e-8
        np.testing.assert_allclose(fit.mu_, arrays["mu"], atol=1e-12)


def test_only_files_of_fits_are_replaced_unasked(tmp_path):
    x_p, x_q, *_ = samples(40)
    fit, path = pre.KLIEP().fit(x_p, x_q), tmp_path / "fit.npz"
    for _ in range(2):
        pre.save(fit, path)
    for foreign in (lambda: path.write_text("mine"), lambda: np.savez(path, x=x_p), lambda: path.write_bytes(b"")):
        foreign()
        before = path.read_bytes()
        with pytest.raises(pre.DataError, match="may hold your work") as error:
            pre.save(fit, path)
        assert error.value.argument == "path"
        assert path.read_bytes() == before
        np.testing.assert_array_equal(pre.load(pre.save(fit, path, overwrite=True)).delta_, fit.delta_)
