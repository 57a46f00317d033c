"""Digits: the quick version of the experiment, the MNIST reader, the measures, and the verdict."""

import gzip
import json
import struct

import numpy as np
import pytest
from pre_convex_lab.paper import Setting
from pre_convex_lab.paper.digits import experiment
from pre_convex_lab.paper.digits.experiment import LIME_OWN, LIME_SAME, LOGISTIC, PLAIN_PRE, SPARSE_PRE
from pre_convex_lab.paper.digits.mnist import read_mnist
from pre_convex_lab.paper.local_classifiers import soft_line
from sklearn.linear_model import Ridge

import pre_convex as pre
from pre_convex.applications.explanation.surrogate import sigmoid


@pytest.fixture(scope="module")
def record(quick_run):
    return quick_run("digits")[1]


def test_selected_superpixels_have_ink_for_any_weights(record):
    data = record["data"]
    assert "scikit-learn's digits" in data["source"]
    assert data["accuracy"] > 0.97
    assert data["trained"]["chosen_ink"][0] > 0.95
    assert data["random"]["chosen_ink"][0] > 0.95
    verdicts = [finding["verdict"] for finding in record["findings"] if finding["paper"]]
    assert verdicts[0] == "holds"
    assert verdicts[1].startswith("does not hold")


def test_log_odds_leak_less_and_are_more_stable_than_lime(record):
    leak, cosine = (record["data"]["trained"][key] for key in ("leak", "cosine"))
    for method in (PLAIN_PRE, LOGISTIC):
        assert leak[method][0] < 0.5 * min(leak[LIME_OWN][0], leak[LIME_SAME][0])
        assert 1.0 - cosine[method][0] < 0.3 * (1.0 - max(cosine[LIME_OWN][0], cosine[LIME_SAME][0]))
    assert leak[SPARSE_PRE][0] < 0.01
    # no gain if probabilities are not saturated
    plain = record["data"]["random"]["leak"]
    assert plain[PLAIN_PRE][0] == pytest.approx(plain[LIME_OWN][0], rel=0.4)


def test_empty_superpixels_are_rarely_significant(record):
    assert record["data"]["trained"]["false"][0] < 0.12


def test_deletion_curves_of_all_methods_agree_and_a_random_order_is_worst(record):
    area = record["data"]["trained"]["area"]
    for method in (PLAIN_PRE, LIME_OWN, LIME_SAME, LOGISTIC):
        assert area[method][0] == pytest.approx(area[PLAIN_PRE][0], abs=0.03)
    assert area[PLAIN_PRE][0] + 0.2 < area["most ink first"][0] < area["random"][0]


def idx(array):
    return b"\x00\x00\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_mnist(folder, pack=lambda content: content, ending=""):
    rng = np.random.default_rng(0)
    arrays = []
    for split, n in (("train", 30), ("t10k", 12)):
        images = rng.integers(0, 256, (n, 28, 28)).astype(np.uint8)
        labels = np.resize(np.array([6, 9, 3], dtype=np.uint8), n)
        (folder / f"{split}-images-idx3-ubyte{ending}").write_bytes(pack(idx(images)))
        (folder / f"{split}-labels-idx1-ubyte{ending}").write_bytes(pack(idx(labels)))
        arrays += [images, labels]
    return arrays


@pytest.mark.parametrize(("pack", "ending"), [(lambda content: content, ""), (gzip.compress, ".gz")])
def test_mnist_is_read_from_plain_and_gzipped_files(tmp_path, pack, ending):
    below = tmp_path / "data"
    below.mkdir()
    expected = write_mnist(below, pack, ending)
    found = read_mnist(tmp_path)
    for i in (0, 2):
        np.testing.assert_allclose(found[i] * 255.0, expected[i])
        np.testing.assert_array_equal(found[i + 1], expected[i + 1])
    name, grid, images, labels, test_images, test_labels = experiment.load(Setting(mnist=tmp_path))
    assert name.startswith("MNIST")
    assert grid == (7, 7)
    assert set(labels) == set(test_labels) == {6, 9}
    assert (len(images), len(test_images)) == (20, 8)


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        (None, "train-images-idx3-ubyte"),
        (lambda whole: b"\x00\x00\x08\x01" + whole[4:], "IDX"),
        (lambda whole: whole[:-1], "23519"),
        (lambda whole: gzip.compress(whole)[:-20], "train-images-idx3-ubyte"),
        (lambda _: idx(np.zeros((29, 28, 28), dtype=np.uint8)), "29 images"),
    ],
    ids=["missing", "wrong dimensions", "truncated", "truncated gzip", "too few images"],
)
def test_bad_files_are_refused(tmp_path, damage, word):
    write_mnist(tmp_path)
    path = tmp_path / "train-images-idx3-ubyte"
    whole = path.read_bytes()
    path.unlink()
    if damage is not None:
        path.write_bytes(damage(whole))
    with pytest.raises(pre.DataError, match=word) as error:
        read_mnist(tmp_path)
    assert error.value.argument == "--mnist"
    assert error.value.remedy


def test_lime_on_given_points_is_weighted_ridge_regression():
    rng = np.random.default_rng(0)
    points = (rng.random((200, 5)) < 0.5).astype(float)
    answers = sigmoid(points @ [3.0, -1.0, 0.0, 0.5, 2.0])
    cosine = points.sum(axis=1) / np.sqrt(np.maximum(points.sum(axis=1), 1.0) * 5)
    weights = np.sqrt(np.exp(-np.square((1.0 - cosine) / 0.25)))
    expected = Ridge(alpha=1.0).fit(points, answers, sample_weight=weights).coef_
    proba = np.column_stack([1.0 - answers, answers])
    np.testing.assert_allclose(experiment.lime_same_points(points, proba), expected, atol=1e-6)


def test_soft_logistic_is_exact_for_linear_log_odds():
    points = (np.random.default_rng(0).random((300, 4)) < 0.5).astype(float)
    line = np.array([3.0, -1.0, 0.0, 0.5, -1.0])
    answers = sigmoid(points @ line[:-1] + line[-1])
    np.testing.assert_allclose(soft_line(points, np.column_stack([1.0 - answers, answers])), line, atol=1e-5)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.3, 0.2, 0.4), "holds"),
        ((0.01, -0.01, 0.03), "does not hold: the same for random networks"),
        ((0.05, -0.02, 0.12), "does not hold clearly"),
    ],
)
def test_ink_is_evidence_only_if_random_networks_have_less(interval, verdict):
    assert experiment.judge_ink(interval) == verdict


@pytest.mark.parametrize(
    ("interval", "below"),
    [
        ((-0.2, -0.3, -0.1), True),
        ((0.2, 0.1, 0.3), False),
        ((-0.1, -0.3, 0.1), False),
        ((-0.0002, -0.0003, -0.0001), False),
    ],
)
def test_difference_must_be_significant_and_large_enough(interval, below):
    assert experiment.below(interval) == below


def negated(values):
    mean, low, high = values
    return [-mean, -high, -low]


def test_claims_follow_from_the_differences(record):
    data = json.loads(json.dumps(record["data"]))
    found = experiment.claims(data)
    first = found["the super-pixels that PRE selects lie on the digit"], found["PRE is more stable than LIME"]
    assert all(first)
    less = data["trained"]["pre_less"]
    data["trained"]["pre_less"] = {k: {m: negated(v) for m, v in by.items()} for k, by in less.items()}
    data["ink_less_random"], data["trained"]["chosen_ink"] = [0.5, 0.4, 0.6], [0.5, 0.4, 0.6]
    other = experiment.claims(data)
    assert not other["the super-pixels that PRE selects lie on the digit"]
    assert other["with random weights of the network far fewer of them do"]
    assert not any(found[text] and other[text] for text in found if text.startswith("PRE"))
    data["trained"]["pre_less"] = {k: dict.fromkeys(by, (0.0, -0.1, 0.1)) for k, by in less.items()}
    assert not any(holds for text, holds in experiment.claims(data).items() if text.startswith("PRE"))


def test_every_image_has_its_own_points():
    """The same image twice gets different points, and so different coefficients."""
    image = np.zeros((2, 4, 4))
    image[:, 1:, 1:] = [[0.0, 0.5, 1.0], [0.5, 1.0, 0.5], [1.0, 0.5, 1.0]]
    rng = np.random.default_rng(0)
    network = experiment.train(rng.random((40, 4, 4)), np.arange(40) % 2, 0, 5)
    found = experiment.examine([network] * 2, image, (4, 4), 80, 1, Setting(quick=True), "")
    one, other = (first[PLAIN_PRE] for first in found["first"])
    assert np.abs(one - other).max() > 1e-6


def test_mean_cosine_and_deletion_curve_of_known_cases():
    a, b = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    assert experiment.mean_cosine([a, 2.0 * a]) == pytest.approx(1.0)
    assert experiment.mean_cosine([a, b, b]) == pytest.approx((2.0 / np.sqrt(2.0) + 1.0) / 3.0)

    class Sum:
        def predict_proba(self, rows):
            p = sigmoid(rows.sum(axis=1))
            return np.column_stack([1.0 - p, p])

    image = np.array([[1.0, 2.0]])
    curve = experiment.deletion(Sum(), image, np.array([[0, 1]]), [1, 0])
    np.testing.assert_allclose(curve, sigmoid(np.array([3.0, 1.0, 0.0])))
