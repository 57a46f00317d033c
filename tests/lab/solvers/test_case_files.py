"""Cases and sets on disk are read back bit for bit; damaged files are reported."""

import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pre_convex_lab.solvers.case_files import checksum, file_name, read_case, read_set, write_case, write_set
from pre_convex_lab.solvers.cases import Case, Truth, planted
from pre_convex_lab.solvers.sets import TestSet, load_set

from pre_convex import RatioProblem
from pre_convex.errors import DataError

ARRAYS = ("target", "features_q", "log_base", "features_p", "log_weights_p")


def same_bits(a, b):
    """Whether two arrays have the same bits, including the sign of zero; or both are ``None``."""
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def assert_same(case, copy):
    for name in ARRAYS:
        assert same_bits(getattr(case.problem, name), getattr(copy.problem, name)), name
    for name in ("features", "log_base", "origin"):
        assert same_bits(getattr(case.problem.rows, name), getattr(copy.problem.rows, name)), name
    assert copy.problem.rows.uniform == case.problem.rows.uniform
    here, there = case.problem.rows.features.flags, copy.problem.rows.features.flags
    assert not here.forc or (here.c_contiguous, here.f_contiguous) == (there.c_contiguous, there.f_contiguous)
    for name in ("radius", "norm", "feature_names", "paired"):
        assert getattr(copy.problem, name) == getattr(case.problem, name)
    assert same_bits(case.delta, copy.delta)
    assert (copy.name, copy.truth, copy.value, dict(copy.facts)) == (
        case.name,
        case.truth,
        case.value,
        dict(case.facts),
    )


def case_from_samples(seed=0, n=30, paired=False):
    """A case with a p side, a zero base weight, and features far from the origin."""
    rng = np.random.default_rng(seed)
    x_p, x_q = rng.normal(size=(n, 2)) + 1e4, rng.normal(size=(n, 2)) + 1e4
    log_q = 50.0 * rng.normal(size=n) - 1e5
    log_q[3] = -np.inf
    problem = RatioProblem.from_samples(
        x_p, x_q, rng.normal(size=n), log_q, features="polynomial", radius=0.1, norm=1, paired=paired
    )
    return Case("säm/ple", problem, Truth.OPTIMAL, -0.1, None, {"ess": 3.0, "far": np.inf, "n": 30, "word": "inf"})


@pytest.mark.parametrize("case", load_set("smoke").cases, ids=lambda c: c.name)
def test_the_smoke_set_is_read_bit_for_bit(case, tmp_path):
    assert_same(case, read_case(write_case(case, tmp_path / "case.npz")))


@pytest.mark.parametrize("paired", [False, True])
def test_a_case_with_all_fields_is_read_bit_for_bit(paired, tmp_path):
    case = case_from_samples(paired=paired)
    assert case.problem.rows.origin is not None
    assert np.isneginf(case.problem.log_base).sum() == 1
    copy = read_case(write_case(case, tmp_path / "case.npz"))
    assert_same(case, copy)
    assert isinstance(copy.facts["n"], int)
    assert (copy.facts["word"], copy.facts["far"]) == ("inf", np.inf)
    assert copy.problem.log_base.flags.writeable is False


numbers = st.floats(-1e6, 1e6).filter(lambda x: x == 0.0 or abs(x) > 1e-90)


@given(
    st.integers(1, 12),
    st.integers(1, 4),
    st.sampled_from([1, 2, np.inf]),
    st.sampled_from([0.0, 1e-3, 0.7]),
    st.sampled_from(["C", "F", "strided"]),
    st.data(),
)
def test_any_case_is_read_bit_for_bit(tmp_path_factory, n, k, norm, radius, order, data):
    F = np.array(data.draw(st.lists(st.lists(numbers, min_size=k, max_size=k), min_size=n, max_size=n)))
    F = np.repeat(F, 2, axis=1)[:, ::2] if order == "strided" else np.asarray(F, order=order)
    weights = st.lists(st.one_of(st.floats(-1e9, 1e9), st.just(-np.inf)), min_size=n, max_size=n)
    a = data.draw(st.one_of(st.none(), weights.filter(lambda z: max(z) > -np.inf)))
    names = data.draw(st.lists(st.text(), min_size=k, max_size=k, unique=True))
    problem = RatioProblem(F.mean(axis=0), F, a, radius, norm, tuple(names))
    facts = data.draw(st.dictionaries(st.text(), st.floats(allow_nan=False), max_size=3))
    case = Case(
        data.draw(st.text()),
        problem,
        data.draw(st.sampled_from(list(Truth))),
        data.draw(st.floats(allow_nan=False)),
        data.draw(st.sampled_from([None, np.linspace(-0.0, 1.0, k)])),
        facts,
    )
    folder = tmp_path_factory.mktemp("any")
    assert_same(case, read_case(write_case(case, folder / "case.npz")))
    test_set = TestSet(data.draw(st.text()), data.draw(st.text()), 3, (case,))
    write_set(test_set, folder / "set")
    back = read_set(folder / "set")
    assert (back.name, back.title, back.version) == (test_set.name, test_set.title, 3)
    assert_same(case, back.cases[0])


def test_a_large_problem_keeps_its_memory_layout(tmp_path):
    F = np.asfortranarray(np.random.default_rng(0).normal(size=(5000, 20)))
    case = planted("columns", F, np.zeros(20))
    assert_same(case, read_case(write_case(case, tmp_path / "case.npz")))


def test_the_checksum_depends_on_the_data_only(tmp_path):
    smoke = load_set("smoke")
    assert checksum(smoke) == checksum(load_set("smoke"))
    write_set(smoke, tmp_path)
    assert checksum(read_set(tmp_path)) == checksum(smoke)
    F = np.arange(6.0).reshape(3, 2)
    by_rows, by_columns = (planted("a", np.asarray(F, order=o), np.zeros(2)) for o in "CF")
    one = checksum(TestSet("s", "", 1, (by_rows,)))
    assert one == checksum(TestSet("s", "", 1, (by_columns,)))


def test_the_checksum_is_the_same_on_every_machine():
    problem = RatioProblem(np.array([0.25, -0.0]), np.array([[0.0, 1.0], [0.5, -1.0]]), np.array([0.0, -np.inf]))
    case = Case("a", problem, Truth.BOUNDARY, -np.inf, np.array([1.0, 2.0]), {"x": 0.1})
    assert checksum(TestSet("s", "", 1, (case,))) == "c45f4e7949c35c5e002d893b5caecf3ffef0b031b019848a089e0558830678fa"


@pytest.mark.parametrize(
    "change",
    [
        lambda c: replace(c, name="other"),
        lambda c: replace(c, value=c.value * (1.0 + 1e-5)),
        lambda c: replace(c, delta=None),
        lambda c: replace(c, delta=c.delta + 1e-5),
        lambda c: replace(c, truth=Truth.BOUNDARY),
        lambda c: replace(c, facts={"x": 1.0}),
        lambda c: replace(c, problem=c.problem.with_radius(1e-300)),
        lambda c: replace(c, problem=c.problem.with_radius(0.0, 1)),
        lambda c: replace(c, problem=RatioProblem(-c.problem.target, c.problem.features_q, c.problem.log_base)),
    ],
)
def test_the_checksum_changes_with_the_case(change):
    smoke = load_set("smoke")
    case = smoke.cases[0]
    assert checksum(replace(smoke, cases=(change(case),))) != checksum(replace(smoke, cases=(case,)))


def test_the_checksum_ignores_last_bits():
    """They differ between processors."""
    smoke = load_set("smoke")
    case = smoke.cases[0]
    problem = RatioProblem(np.nextafter(case.problem.target, 1.0), case.problem.features_q, case.problem.log_base)
    near = replace(case, problem=problem, value=np.nextafter(case.value, 1.0), delta=np.nextafter(case.delta, 1.0))
    assert checksum(replace(smoke, cases=(near,))) == checksum(replace(smoke, cases=(case,)))


def test_the_checksum_changes_with_version_name_and_order():
    smoke = load_set("smoke")
    others = [replace(smoke, version=2), replace(smoke, name="x"), replace(smoke, cases=smoke.cases[::-1])]
    assert len({checksum(s) for s in (smoke, *others)}) == 4


def test_a_flipped_bit_is_reported_or_harmless(tmp_path):
    """Harmless bits are those of dates in the archive, for example."""
    case = Case("a", RatioProblem([0.5], [[0.0], [1.0]]), Truth.OPTIMAL, 0.0, np.zeros(1), {"x": 1.0})
    path = write_case(case, tmp_path / "case.npz")
    data = path.read_bytes()
    reported = 0
    places = range(0, len(data), 3)
    for place in places:
        path.write_bytes(data[:place] + bytes([data[place] ^ (1 << place % 8)]) + data[place + 1 :])
        try:
            assert_same(case, read_case(path))
        except DataError as error:
            reported += error.argument == "path"
    assert reported > 0.6 * len(places)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_reported(share, tmp_path):
    path = write_case(load_set("smoke").cases[0], tmp_path / "case.npz")
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(DataError, match=r"case\.npz") as error:
        read_case(path)
    assert error.value.argument == "path"


def rewritten(path, change):
    """Rewrite a file with its dictionary of arrays changed by a function."""
    with np.load(path) as file:
        arrays = dict(file)
    change(arrays)
    np.savez(path, **arrays)
    return path


def header(**changes):
    def change(arrays):
        arrays["header"] = np.array(json.dumps(json.loads(str(arrays["header"])) | changes))

    return change


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda a: a.pop("target"), ""),
        (lambda a: a.pop("header"), ""),
        (lambda a: a.update(other=np.zeros(1)), "other"),
        (lambda a: a.update(target=np.array([1 + 2j, 0])), "target"),
        (lambda a: a.update(target=np.array([0.0])), "1"),
        (lambda a: a.update(target=np.array([{}, None], dtype=object)), "target"),
        (lambda a: a.update(features_q=a["features_q"] * np.nan), "nan"),
        (lambda a: a.update(log_base=a["log_base"] + 1.0), "log_base"),
        (lambda a: a.update(delta=np.zeros(3)), "delta"),
        (lambda a: a.update(value=np.array(np.nan)), "value"),
        (lambda a: a.update(norm=np.array(3.0)), "3"),
        (lambda a: a.update(radius=np.array(-1.0)), "-1"),
        (lambda a: a.update(header=np.array("[" * 100_000)), ""),
        (lambda a: a.update(header=np.array("{}")), ""),
        (header(format=2), "format 2"),
        (header(truth="maybe"), ""),
        (header(flat=True), "constant"),
        (header(facts=3), ""),
        (header(feature_names=["a", "a"]), "'a'"),
    ],
)
def test_invalid_content_is_reported(change, word, tmp_path):
    problem = RatioProblem([0.5, 0.5], np.eye(2), [0.0, 1.0])
    path = write_case(Case("a", problem, Truth.OPTIMAL, 0.0, np.zeros(2)), tmp_path / "case.npz")
    with pytest.raises(DataError) as error:
        read_case(rewritten(path, change))
    assert error.value.argument == "path"
    assert word in error.value.reason


def archive(path, content, compress=zipfile.ZIP_STORED, name="target.npy"):
    with zipfile.ZipFile(path, "w", compress) as file:
        file.writestr(name, content)


def npy_bytes(array, shape):
    """An ``.npy`` file whose header declares another shape."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return out.getvalue() + array.tobytes()


def test_wrong_sizes_and_compressed_files_are_reported(tmp_path):
    path = tmp_path / "bomb.npz"
    for shape in [(10**13,), (10**9, 10**9, 10**9), (3, -1)]:
        archive(path, npy_bytes(np.zeros(3), shape))
        with pytest.raises(DataError, match=r"target\.npy"):
            read_case(path)
    archive(path, npy_bytes(np.zeros(10**6), (10**6,)), zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 20_000
    with pytest.raises(DataError, match="compressed"):
        read_case(path)


def test_other_files_are_reported(tmp_path):
    path = tmp_path / "case.npz"
    for content in (b"", b"text", b"PK\x03\x04", np.lib.format.magic(1, 0)):
        path.write_bytes(content)
        with pytest.raises(DataError, match="damaged"):
            read_case(path)
    archive(path, b"no array")
    with pytest.raises(DataError, match="damaged"):
        read_case(path)
    for missing in (tmp_path / "none.npz", tmp_path):
        with pytest.raises(DataError, match="cannot read") as error:
            read_case(missing)
        assert error.value.argument == "path"


def test_errors_of_writing_name_the_argument_and_leave_no_file(tmp_path):
    smoke = load_set("smoke")
    case = smoke.cases[0]
    (tmp_path / "file").write_text("")
    for argument, call in (
        ("path", lambda: write_case(case, tmp_path / "none" / "case.npz")),
        ("facts", lambda: write_case(replace(case, facts={"x": [1]}), tmp_path / "case.npz")),
        ("folder", lambda: write_set(smoke, tmp_path / "file")),
        ("test_set", lambda: write_set(TestSet("s", "", 1, (case, case)), tmp_path / "set")),
    ):
        with pytest.raises(DataError) as error:
            call()
        assert error.value.argument == argument
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_set_is_not_overwritten_by_another(tmp_path):
    smoke = load_set("smoke")
    mine = TestSet("mine", "one case", 1, smoke.cases[:1])
    write_set(mine, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(DataError, match="mine") as error:
        write_set(smoke, tmp_path)
    assert error.value.argument == "folder"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    write_set(TestSet("mine", "two cases", 2, smoke.cases[:2]), tmp_path)  # a newer version of the same set
    assert len(read_set(tmp_path).cases) == 2


def test_the_damaged_case_of_a_set_is_named(tmp_path):
    smoke = load_set("smoke")
    paths = write_set(smoke, tmp_path)
    names = ["000-plain.npz", "001-radius.npz", "002-edge.npz", "003-outside.npz", "set.json"]
    assert [path.name for path in paths] == names
    edge = paths[2]
    good = edge.read_bytes()
    for damage in (
        lambda: edge.write_bytes(good[:-50]),
        lambda: write_case(replace(smoke.cases[2], value=-0.5), edge),
        edge.unlink,
    ):
        damage()
        with pytest.raises(DataError, match="case 'edge'") as error:
            read_set(tmp_path)
        assert error.value.argument == "folder"
    edge.write_bytes(good)
    assert read_set(tmp_path).cases[2].name == "edge"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"version": 2}, "checksum"),
        ({"name": "other"}, "checksum"),
        ({"cases": []}, "checksum"),
        ({"cases": [{"name": "a", "file": "../000-plain.npz", "sha256": ""}]}, "not in"),
        ({"cases": 3}, "damaged"),
        ({"format": 9}, "format 9"),
        (None, "damaged"),
    ],
)
def test_a_changed_index_is_reported(change, word, tmp_path):
    index = write_set(load_set("smoke"), tmp_path)[-1]
    text = index.read_text(encoding="utf-8")
    index.write_text("nothing" if change is None else json.dumps(json.loads(text) | change), encoding="utf-8")
    with pytest.raises(DataError, match=word) as error:
        read_set(tmp_path)
    assert error.value.argument == "folder"


def test_a_folder_without_a_set_is_reported(tmp_path):
    with pytest.raises(DataError) as error:
        read_set(tmp_path)
    assert error.value.argument == "folder"


@given(st.text(), st.integers(0, 2000))
def test_file_names_are_valid_everywhere(name, number):
    result = file_name(number, name)
    assert set(result) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-_")
    assert result[0].isdigit()
    assert len(result) < 80
    assert not result.endswith(".")
