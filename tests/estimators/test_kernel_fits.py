"""Estimators with kernels: against the dual on the Gram matrix, length scale, landmarks."""

import cvxpy as cp
import numpy as np
import pytest

import pre_convex as pre


def bimodal(seed, n=300):
    rng = np.random.default_rng(seed)
    x_q = 1.5 * rng.normal(size=(2 * n, 1))
    return np.concatenate([rng.normal(-2, 0.5, (n, 1)), rng.normal(2, 0.5, (n, 1))]), x_q


def test_a_kernel_beats_linear_features_on_a_bimodal_ratio():
    x_p, x_q = bimodal(0)
    held_p, held_q = bimodal(1)
    scores = {f: pre.KLIEP(f, radius="auto").fit(x_p, x_q).score(held_p, held_q) for f in ("linear", "kernel")}
    assert scores["kernel"] > scores["linear"] + 0.2


@pytest.mark.parametrize(("kind", "n"), [("rbf", 150), ("laplacian", 40), ("polynomial", 150)])
def test_a_kernel_fit_is_the_dual_on_the_gram_matrix(kind, n):
    x_p, x_q = bimodal(2, n)
    kernel = pre.Kernel(kind, length_scale=1.0 if kind != "polynomial" else 3.0)
    R = 0.1
    fit = pre.KLIEP(kernel, radius=R).fit(x_p, x_q)
    K_qq, K_pq, K_pp = kernel.gram(x_q, x_q), kernel.gram(x_p, x_q), kernel.gram(x_p, x_p)
    joint = np.block([[K_qq, K_pq.T], [K_pq, K_pp]])
    values, vectors = np.linalg.eigh(joint)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T  # joint = root' root
    n = len(x_q)  # 300 in two of the cases
    mu = cp.Variable(n)
    residual = root[:, n:].mean(axis=1) - root[:, :n] @ mu
    dual = cp.Problem(
        cp.Maximize(cp.sum(cp.entr(mu)) - np.log(n) * cp.sum(mu)), [cp.sum(mu) == 1, cp.norm(residual) <= R]
    )
    dual.solve(solver="CLARABEL")
    assert -fit.divergence_ == pytest.approx(dual.value, abs=1e-6)
    np.testing.assert_allclose(fit.mu_, mu.value, atol=1e-5)


def test_the_length_scale_is_cross_validated():
    x_p, x_q = bimodal(0, 100)
    held_p, held_q = bimodal(1)
    chosen = pre.KLIEP(pre.Kernel(length_scale="cv"), radius="cv").fit(x_p, x_q)
    wide = pre.KLIEP(pre.Kernel(length_scale=50.0), radius="cv").fit(x_p, x_q)
    assert chosen.features_.length_scale < 5.0
    assert chosen.score(held_p, held_q) > wide.score(held_p, held_q)


def test_landmarks_come_close_to_the_exact_kernel():
    x_p, x_q = bimodal(0)
    exact = pre.KLIEP(pre.Kernel(length_scale=1.0), radius=0.05).fit(x_p, x_q)
    few = pre.KLIEP(pre.Kernel(length_scale=1.0, landmarks=12), radius=0.05).fit(x_p, x_q)
    assert len(few.delta_) == 12
    assert few.divergence_ == pytest.approx(exact.divergence_, abs=0.02)
    many = np.random.default_rng(0).normal(size=(6000, 1))
    assert len(pre.KLIEP(pre.Kernel(), radius=0.1).fit(many[:3000] + 0.5, many[3000:]).delta_) <= 500


HEAVY = {
    "twenty columns": lambda rng, p: rng.normal(0.2 * p, 1.0, (80, 20)),
    "t tails": lambda rng, p: rng.standard_t(4, (80, 2)) + 0.3 * p,
    "log-normal": lambda rng, p: rng.lognormal(0.3 * p, 1.0, (80, 1)),
    "exponential": lambda rng, p: rng.exponential(1.5 - 0.5 * p, (80, 1)),
    "Cauchy": lambda rng, p: rng.standard_cauchy((80, 2)),
    "the same": lambda rng, p: rng.normal(size=(80, 1)),
}


@pytest.mark.parametrize("radius", ["auto", "cv"])
@pytest.mark.parametrize("name", HEAVY)
def test_a_cross_validated_kernel_fits_ordinary_data(name, radius):
    rng = np.random.default_rng(7)
    x_p, x_q = HEAVY[name](rng, 1.0), HEAVY[name](rng, 0.0)
    fit = pre.KLIEP(pre.Kernel(length_scale="cv"), radius=radius).fit(x_p, x_q)
    assert fit.solution_.status.ok
    assert np.isfinite(fit.log_ratio(x_q)).all()


@pytest.mark.parametrize(
    "features", [pre.Kernel(), pre.Polynomial() + pre.Kernel(landmarks=60)], ids=["alone", "parts"]
)
def test_the_automatic_radius_of_a_kernel_does_not_shrink_two_bumps_away(features):
    x_p, x_q = bimodal(3)
    fit = pre.KLIEP(features, radius="auto").fit(x_p, x_q)
    density = [np.exp(-0.5 * np.square((x_q[:, 0] - m) / 0.5)) / 0.5 for m in (-2.0, 2.0)]
    truth = 0.5 * sum(density) * 1.5 * np.exp(0.5 * np.square(x_q[:, 0] / 1.5))
    assert np.corrcoef(fit.ratio(x_q), truth)[0, 1] > 0.95
    assert fit.radius_choice_.method == "cv"
    assert fit.solution_.status is pre.Status.OPTIMAL


def test_the_landmarks_of_frames_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.5, 1.0, (60, 2)) * [1.0, 9.0], rng.normal(size=(60, 2)) * [1.0, 9.0]
    frame = pd.DataFrame(x_q, columns=["u", "v"])[["v", "u"]]
    for kernel in (pre.Kernel(landmarks=20), pre.Kernel(length_scale="cv", landmarks=20)):
        plain = pre.KLIEP(kernel, radius=0.1).fit(x_p, x_q)
        named = pre.KLIEP(kernel, radius=0.1).fit(pd.DataFrame(x_p, columns=["u", "v"]), frame)
        np.testing.assert_allclose(named.log_ratio(frame), plain.log_ratio(x_q), atol=1e-6)


def test_coefficients_of_a_kernel_are_counted_in_a_summary():
    rng = np.random.default_rng(5)
    x_p, x_q = rng.normal(0.5, 1.0, (60, 1)), rng.normal(0.0, 1.0, (80, 1))
    features = pre.Linear() + pre.Kernel(landmarks=7)
    report = pre.KLIEP(features, radius=0.1).fit(x_p, x_q).summary()
    assert "and 7 coefficients of a kernel" in str(report)
    assert "and 7 coefficients of a kernel" in report._repr_html_()
    assert len(report.to_frame()) == 8
    assert "radius of 0" not in str(report)  # which a kernel cannot have


@pytest.mark.parametrize("kind", [pre.KLIEP, pre.LogisticRatio])
def test_summaries_of_chosen_features_name_their_units(kind):
    rng = np.random.default_rng(6)
    x_p, x_q = 1e4 * rng.normal(0.5, 1.0, (300, 1)), 1e4 * rng.normal(0.0, 1.0, (300, 1))
    assert dict(kind("auto").fit(x_p, x_q).summary().notes)["coef"].startswith("per standard deviation")
    assert "coef" not in dict(kind("linear").fit(x_p, x_q).summary().notes)
