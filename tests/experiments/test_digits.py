"""The digits experiment: its verdicts in the quick version, and the parts that it stands on."""

import gzip
import json
import struct

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import pre_convex as pre
from pre_convex.applications.explanation.local_fit import probability_of
from pre_convex.experiments import Setting, load_experiment, perform
from pre_convex.experiments import digits as module
from pre_convex.experiments.digits import LIME_OWN, LIME_SAME, LOGISTIC, METHODS, PLAIN_PRE, SPARSE_PRE
from pre_convex.experiments.local import soft_line
from pre_convex.experiments.mnist import read_idx, read_mnist


@pytest.fixture(scope="module")
def record():
    return perform("digits", Setting(quick=True))[1]


def test_the_selected_cells_hold_ink_whatever_the_weights(record):
    data = record["data"]
    assert "scikit-learn's digits" in data["source"]
    assert data["accuracy"] > 0.97
    assert data["trained"]["chosen_ink"][0] > 0.95
    assert data["random"]["chosen_ink"][0] > 0.95
    verdicts = {finding["question"]: finding["verdict"] for finding in record["findings"]}
    assert verdicts["selected (sparse) that hold ink"] == "holds"
    assert verdicts["the same, random weights"].startswith("does not hold")


def test_log_odds_leak_less_and_are_steadier_than_lime(record):
    leak, cosine = (record["data"]["trained"][key] for key in ("leak", "cosine"))
    for method in (PLAIN_PRE, LOGISTIC):
        assert leak[method][0] < 0.5 * min(leak[LIME_OWN][0], leak[LIME_SAME][0])
        assert 1.0 - cosine[method][0] < 0.3 * (1.0 - max(cosine[LIME_OWN][0], cosine[LIME_SAME][0]))
    assert leak[SPARSE_PRE][0] < 0.01
    # without saturation there is no gain
    plain = record["data"]["random"]["leak"]
    assert plain[PLAIN_PRE][0] == pytest.approx(plain[LIME_OWN][0], rel=0.4)


def test_cells_without_ink_are_told_apart_from_zero_by_chance_only(record):
    assert record["data"]["trained"]["false"][0] < 0.12


def test_deletion_ranks_all_methods_alike_and_chance_last(record):
    area = record["data"]["trained"]["area"]
    for method in (PLAIN_PRE, LIME_OWN, LIME_SAME, LOGISTIC):
        assert area[method][0] == pytest.approx(area[PLAIN_PRE][0], abs=0.03)
    assert area[PLAIN_PRE][0] + 0.2 < area["most ink first"][0] < area["random"][0]


def test_the_stored_numbers_can_be_drawn(record, tmp_path):
    data = json.loads(json.dumps(record["data"]))
    figure = load_experiment("digits").draw(data)
    figure.savefig(tmp_path / "digits.png")
    titles = [ax.get_title() for ax in figure.axes]
    assert {PLAIN_PRE, SPARSE_PRE, LIME_OWN} <= set(titles)
    assert len(figure.axes) == 4 * 5 + 1 + 4  # overlays with their colour bar, and four panels
    assert all(len(data["trained"]["leak"][method]) == 3 for method in METHODS)


# --- parts ---


def idx(array):
    return b"\x00\x00\x08" + bytes([array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_mnist(folder, pack=lambda content: content, ending=""):
    rng = np.random.default_rng(0)
    parts = []
    for part, n in (("train", 30), ("t10k", 12)):
        images = rng.integers(0, 256, (n, 28, 28)).astype(np.uint8)
        labels = np.resize(np.array([6, 9, 3], dtype=np.uint8), n)
        (folder / f"{part}-images-idx3-ubyte{ending}").write_bytes(pack(idx(images)))
        (folder / f"{part}-labels-idx1-ubyte{ending}").write_bytes(pack(idx(labels)))
        parts += [images, labels]
    return parts


@pytest.mark.parametrize(("pack", "ending"), [(lambda content: content, ""), (gzip.compress, ".gz")])
def test_mnist_is_read_from_its_files(tmp_path, pack, ending):
    below = tmp_path / "data"
    below.mkdir()
    expected = write_mnist(below, pack, ending)
    found = read_mnist(tmp_path)
    for i in (0, 2):
        np.testing.assert_allclose(found[i] * 255.0, expected[i])
        np.testing.assert_array_equal(found[i + 1], expected[i + 1])
    name, grid, images, labels, test_images, test_labels = module.load(Setting(mnist=tmp_path))
    assert name.startswith("MNIST")
    assert grid == (7, 7)
    assert set(labels) == set(test_labels) == {6, 9}
    assert (len(images), len(test_images)) == (20, 8)


def test_broken_files_are_named(tmp_path):
    with pytest.raises(pre.DataError, match=r"^--mnist: .* holds no train-images-idx3-ubyte"):
        read_mnist(tmp_path)
    write_mnist(tmp_path)
    path = tmp_path / "train-images-idx3-ubyte"
    whole = path.read_bytes()
    with pytest.raises(pre.DataError, match=r"is not an IDX file of bytes with 1 dimensions"):
        read_idx(path, 1)
    path.write_bytes(whole[:-1])
    with pytest.raises(pre.DataError, match=r"has 23519 bytes where its header says \[30, 28, 28\]"):
        read_mnist(tmp_path)
    path.write_bytes(gzip.compress(whole)[:-20])
    with pytest.raises(pre.DataError, match=r"^--mnist: train-images-idx3-ubyte (cannot be read|has \d+ bytes where)"):
        read_mnist(tmp_path)
    path.write_bytes(idx(np.zeros((29, 28, 28), dtype=np.uint8)))
    with pytest.raises(pre.DataError, match=r"^--mnist: 29 images and 30 labels in train"):
        read_mnist(tmp_path)


def test_lime_on_given_points_is_its_weighted_ridge():
    rng = np.random.default_rng(0)
    points = (rng.random((200, 5)) < 0.5).astype(float)
    answers = probability_of(points @ [3.0, -1.0, 0.0, 0.5, 2.0])
    cosine = points.sum(axis=1) / np.sqrt(np.maximum(points.sum(axis=1), 1.0) * 5)
    weights = np.sqrt(np.exp(-np.square((1.0 - cosine) / 0.25)))
    expected = Ridge(alpha=1.0).fit(points, answers, sample_weight=weights).coef_
    proba = np.column_stack([1.0 - answers, answers])
    np.testing.assert_allclose(module.lime_same_points(points, proba), expected, atol=1e-6)


def test_logistic_regression_on_soft_labels_is_exact_for_linear_log_odds():
    points = (np.random.default_rng(0).random((300, 4)) < 0.5).astype(float)
    line = np.array([3.0, -1.0, 0.0, 0.5, -1.0])
    answers = probability_of(points @ line[:-1] + line[-1])
    np.testing.assert_allclose(soft_line(points, np.column_stack([1.0 - answers, answers])), line, atol=1e-5)


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.3, 0.2, 0.4), "holds"),
        ((0.01, -0.01, 0.03), "does not hold: random networks do too"),
        ((0.05, -0.02, 0.12), "does not hold clearly"),
    ],
)
def test_ink_is_evidence_only_where_random_networks_have_less(interval, verdict):
    assert module.judge_ink(interval) == verdict


@pytest.mark.parametrize(
    ("interval", "word"),
    [
        ((-0.2, -0.3, -0.1), "less"),
        ((0.2, 0.1, 0.3), "more"),
        ((0.1, -0.1, 0.3), "same"),
        ((-0.0002, -0.0003, -0.0001), "same"),
    ],
)
def test_a_difference_needs_an_interval_and_a_size(interval, word):
    assert module.stands(interval, "less", "more", "same") == word


def turned(values):
    mean, low, high = values
    return [-mean, -high, -low]


def test_the_headline_can_come_out_the_other_way(record):
    data = json.loads(json.dumps(record["data"]))
    text = module.verdict(data)
    assert "PRE leaks less than LIME (by" in text
    assert "is steadier (by" in text
    less = data["trained"]["pre_less"]
    data["trained"]["pre_less"] = {k: {m: turned(v) for m, v in by.items()} for k, by in less.items()}
    data["ink_less_random"], data["trained"]["chosen_ink"] = [0.5, 0.4, 0.6], [0.5, 0.4, 0.6]
    other = module.verdict(data)
    for words in ("do not all lie on the digit", "random weights far fewer", "leaks more than LIME", "is less steady"):
        assert words in other
        assert words not in text.split("; PRE leaks", 2)[0]
    data["trained"]["pre_less"] = {k: dict.fromkeys(by, (0.0, -0.1, 0.1)) for k, by in less.items()}
    alike = module.verdict(data)
    assert "PRE leaks as much as LIME (by 0 points), is as steady (by 0), and its order is no better" in alike


def test_every_image_has_points_of_its_own():
    """The same image twice gets other points, and so other coefficients."""
    image = np.zeros((2, 4, 4))
    image[:, 1:, 1:] = [[0.0, 0.5, 1.0], [0.5, 1.0, 0.5], [1.0, 0.5, 1.0]]
    rng = np.random.default_rng(0)
    network = module.train(rng.random((40, 4, 4)), np.arange(40) % 2, 0, 5)
    found = module.examine([network] * 2, image, (4, 4), 80, 1, Setting(quick=True), "")
    one, other = (first[PLAIN_PRE] for first in found["first"])
    assert np.abs(one - other).max() > 1e-6


def test_cosines_and_curves_with_known_answers():
    a, b = np.array([1.0, 0.0]), np.array([1.0, 1.0])
    assert module.mean_cosine([a, 2.0 * a]) == pytest.approx(1.0)
    assert module.mean_cosine([a, b, b]) == pytest.approx((2.0 / np.sqrt(2.0) + 1.0) / 3.0)

    class Sum:
        def predict_proba(self, rows):
            p = probability_of(rows.sum(axis=1))
            return np.column_stack([1.0 - p, p])

    image = np.array([[1.0, 2.0]])
    curve = module.deletion(Sum(), image, np.array([[0, 1]]), [1, 0])
    np.testing.assert_allclose(curve, probability_of(np.array([3.0, 1.0, 0.0])))
