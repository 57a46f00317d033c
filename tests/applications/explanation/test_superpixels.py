"""Images whose super-pixels are on or off."""

import numpy as np
import pytest
from scipy.special import expit

import pre_convex as pre
from pre_convex.applications.explanation import SuperPixels, explain


@pytest.mark.parametrize("fill", [0.0, "mean", 0.5])
@pytest.mark.parametrize("labelled", [False, True])
def test_super_pixels_of_a_linear_classifier_are_recovered_exactly(fill, labelled):
    rng = np.random.default_rng(0)
    image, slopes = rng.random((6, 5)), rng.normal(size=30)
    labels = np.array([[10, 10, 10, 20, 20]] * 3 + [[30, 30, 30, 40, 40]] * 3)
    recipe = SuperPixels((2, 2), labels=labels if labelled else None, fill=fill, flat=True)
    found = explain(lambda z: expit(z @ slopes), image, recipe, 200, label=1, tol=1e-12)
    off = np.full(image.shape, 0.0 if fill == "mean" else fill)
    if fill == "mean":
        for cell in (10, 20, 30, 40):
            off[labels == cell] = image[labels == cell].mean()
    change = (image - off) * slopes.reshape(6, 5)
    np.testing.assert_allclose(found.coef, [change[labels == c].sum() for c in (10, 20, 30, 40)], atol=1e-6)
    assert found.names[0] == ("segment 10" if labelled else "row 0, column 0")


def test_large_colour_images_are_predicted_in_blocks():
    counts = []

    def classifier(images):
        counts.append(len(images))
        return expit(images[:, ::100, ::100].astype(float).mean(axis=(1, 2, 3)) / 50.0 - 1.0)

    image = np.random.default_rng(0).integers(0, 255, (600, 600, 3)).astype(np.uint8)
    found = explain(classifier, image, SuperPixels((2, 3)), 40, n_test=0, label=1)
    assert counts[0] == 1  # x itself
    assert len(counts) > 2
    assert sum(counts[1:]) == 40
    assert max(counts) * image.size <= 20_000_000
    assert found.near.inputs(np.ones((1, 6)), None).dtype == np.uint8
    assert np.all(found.coef > 0.0)


@pytest.mark.parametrize(
    ("kind", "fill"),
    [
        ("uint8", 0.5),
        ("uint8", 300),
        ("uint8", -1),
        ("uint8", np.full((4, 4), 127.6)),
        ("float32", 1e300),
        ("bool", 0.5),
    ],
)
def test_a_filling_that_the_image_cannot_hold_is_refused(kind, fill):
    with pytest.raises(pre.DataError) as error:
        SuperPixels((2, 2), fill=fill).around(np.ones((4, 4), dtype=kind))
    assert error.value.argument == "fill"


def test_the_mean_colour_of_an_integer_image_is_rounded():
    pixels = np.array([[0, 3, 3, 3], [1, 0, 0, 0]], dtype=np.uint8)
    recipe = SuperPixels((2, 1), fill="mean")
    assert recipe.around(pixels).filling.tolist() == [[2] * 4, [0] * 4]
    assert recipe.around(pixels > 0).filling.tolist() == [[True] * 4, [False] * 4]


def test_super_pixels_are_coloured_by_their_coefficient():
    image = np.zeros((4, 4))
    image[:2, :2] = 1.0
    found = explain(lambda z: expit(z[:, 0] + z[:, 5] - 0.5), image, SuperPixels((2, 2), flat=True), 100, label=1)
    axes = found.plot_image()
    shade = axes.images[1].get_array()
    np.testing.assert_allclose(shade[:2, :2], found.coef[0])
    np.testing.assert_allclose(found.plot_image(clear=True).images[1].get_array()[2:], 0.0, atol=1e-6)
