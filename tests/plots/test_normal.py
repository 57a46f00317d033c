"""QQ plots and confidence ellipses."""

import numpy as np
import pytest
from plot_fits import drawn, made

import pre_convex as pre
from pre_convex.plots import plot_ellipse, plot_qq


@pytest.mark.parametrize("n", [1, 2, 50, 10_000])
def test_a_qq_plot_keeps_the_extremes(n):
    z = np.random.default_rng(0).normal(size=n)
    ax = drawn(plot_qq(z))
    points = ax.lines[-1].get_xydata()
    assert len(points) <= 3000
    assert points[0, 1] == z.min()
    assert points[-1, 1] == z.max()


def test_the_band_of_a_qq_plot_has_its_level():
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(30):
        ax = plot_qq(rng.normal(size=100), level=0.5)
        points, corners = ax.lines[-1].get_xydata(), ax.collections[0].get_paths()[0].vertices
        for x, y in points[10:90:20]:
            band = corners[np.isclose(corners[:, 0], x, atol=1e-12), 1]
            inside.append(band.min() <= y <= band.max())
    assert 0.35 < np.mean(inside) < 0.65


def test_the_border_of_an_ellipse_has_the_p_value_of_its_level():
    fit, _ = made("named")
    inference = fit.inference()
    ax = drawn(plot_ellipse(inference, ("_hidden", 0), level=0.9))
    border = ax.lines[0].get_xydata()
    L = np.zeros((2, fit.problem_.k))
    L[0, 1] = L[1, 0] = 1.0
    for point in border[::60]:
        assert inference.wald_test(L, point).p_value == pytest.approx(0.1)
    assert "_hidden" in ax.get_xlabel()


def test_ellipse_with_points():
    fit, _ = made("weightless")  # one of the coefficients is free, so that an ellipse is a line
    for columns in (2, 3):
        ax = drawn(plot_ellipse(fit.inference(), (0, 1), points=np.zeros((5, columns))))
        assert ax.collections[0].get_offsets().shape == (5, 2)
    with pytest.raises(pre.DataError) as error:
        plot_ellipse(fit.inference(), points=np.zeros((5, 4)))
    assert error.value.argument == "points"
