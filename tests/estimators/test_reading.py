"""Estimators take paths and tables of any library, and give the same fit for all of them."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from zoo import samples

import pre_convex as pre
import pre_convex.estimators.reading as reading

X_P, X_Q, LIK_P, LIK_Q = samples(120)


def csv(path, x, separator=",", opened=open):
    with opened(path, "wt", encoding="utf-8") as file:
        file.write(separator.join(["age", "dose"]) + "\n")
        file.writelines(separator.join(map(repr, row)) + "\n" for row in x.tolist())


def parquet(path, x):
    pytest.importorskip("pyarrow")
    pytest.importorskip("pandas").DataFrame(x, columns=["age", "dose"]).to_parquet(path)


def zarr(path, x):
    pytest.importorskip("zarr").save_array(str(path), x)


WRITERS = {
    "comma.csv": csv,
    "semicolon.csv": lambda path, x: csv(path, x, ";"),
    "tab.tsv": lambda path, x: csv(path, x, "\t"),
    "packed.csv.gz": lambda path, x: csv(path, x, ";", gzip.open),
    "numbers.npy": lambda path, x: np.save(path, x),
    "numbers.npz": lambda path, x: np.savez(path, x=x, columns=np.array(["age", "dose"])),
    "table.parquet": parquet,
    "array.zarr": zarr,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("whole", [True, False])
def test_files_give_the_fit_of_their_rows(tmp_path, monkeypatch, name, whole):
    if not whole:
        monkeypatch.setattr(reading, "IN_MEMORY", 100)  # read block by block, where the format can
    for side, x in (("p", X_P), ("q", X_Q)):
        WRITERS[name](tmp_path / f"{side}-{name}", x)
    p, q = tmp_path / f"p-{name}", str(tmp_path / f"q-{name}")
    for radius in (0.0, 0.1):
        expected = pre.KLIEP("polynomial", radius=radius).fit(X_P, X_Q)
        fit = pre.KLIEP("polynomial", radius=radius).fit(p, q)
        np.testing.assert_allclose(fit.delta_, expected.delta_, atol=1e-6)
        np.testing.assert_allclose(fit.log_ratio(q), expected.log_ratio(X_Q), atol=1e-5)
        assert fit.n_features_in_ == 2
        assert len(fit.summary().notes) == len(expected.summary().notes)
    names = ("age", "dose") if name.split(".")[0] not in ("numbers", "array") or name.endswith("npz") else None
    assert fit.feature_names_[:2] == (names or ("x0", "x1"))


def test_a_folder_and_a_list_of_parquet_files(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    for i, part in enumerate(np.array_split(X_Q, 3)):
        parquet(folder / f"part.{i}.parquet", part)
    expected = pre.KLIEP().fit(X_P, X_Q).delta_
    for q in (folder, sorted(folder.iterdir())):
        np.testing.assert_allclose(pre.KLIEP().fit(X_P, q).delta_, expected, atol=1e-9)


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars"])
def test_a_column_may_hold_the_log_likelihood(tmp_path, kind):
    expected = pre.PosteriorRatio().fit(X_P, X_Q, LIK_P, LIK_Q)
    sides = []
    for name, x, lik in (("p", X_P, LIK_P), ("q", X_Q, LIK_Q)):
        data = {"age": x[:, 0], "ll": lik(x), "dose": x[:, 1]}
        frame = pytest.importorskip("polars" if kind == "polars" else "pandas").DataFrame(data)
        if kind == "csv":
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
        elif kind == "parquet":
            frame.to_parquet(tmp_path / f"{name}.parquet")
        sides.append(tmp_path / f"{name}.{kind}" if kind in ("csv", "parquet") else frame)
    fit = pre.PosteriorRatio().fit(*sides, "ll", "ll")
    np.testing.assert_allclose(fit.delta_, expected.delta_, atol=1e-8)
    assert fit.feature_names_ == ("age", "dose")
    np.testing.assert_allclose(fit.log_ratio(sides[1]), expected.log_ratio(X_Q), atol=1e-8)  # without that column
    with pytest.raises(pre.DataError, match="age, ll, dose") as error:
        pre.PosteriorRatio().fit(*sides, "likelihood", "ll")
    assert error.value.argument == "log_lik_p"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("no.csv", None),
        ("text.csv", b"a,b\n1,red\n"),
        ("folder", None),
        ("x.xlsx", b"PK"),
        ("bad.csv.gz", b"\x1f\x8bno"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_argument(tmp_path, name, content):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(pre.DataError, match=name) as error:
        pre.KLIEP().fit(X_P, path)
    assert error.value.argument == "x_q"


def test_a_gzip_bomb_is_refused(tmp_path, monkeypatch):
    import pre_convex.data.csv_files as csv_files

    monkeypatch.setattr(csv_files, "GUARDED_BYTES", 1000)
    with gzip.open(tmp_path / "x.csv.gz", "wt") as file:
        file.write("a\n" + "1\n" * 10**6)
    with pytest.raises(pre.DataError, match="implausible"):
        pre.KLIEP().fit(X_P, tmp_path / "x.csv.gz")


def test_tables_of_any_library_and_boolean_columns():
    nw, pd = pytest.importorskip("narwhals"), pytest.importorskip("pandas")
    flag_p, flag_q = X_P[:, 1] > 0.3, X_Q[:, 1] > 0.0
    expected = pre.KLIEP().fit(*(np.column_stack([x[:, 0], f]) for x, f in ((X_P, flag_p), (X_Q, flag_q))))
    data = [{"age": x[:, 0], "smokes": f} for x, f in ((X_P, flag_p), (X_Q, flag_q))]
    frames = {"pandas": pd.DataFrame, "narwhals": lambda d: nw.from_native(pd.DataFrame(d))}
    for library in ("polars", "pyarrow"):
        module = pytest.importorskip(library)
        frames[library] = module.DataFrame if library == "polars" else module.table
    for make in frames.values():
        fit = pre.KLIEP().fit(*map(make, data))
        np.testing.assert_allclose(fit.delta_, expected.delta_)
        assert fit.feature_names_ == ("age", "smokes")


def test_truth_values_in_a_csv_file_are_numbers(tmp_path):
    (tmp_path / "q.csv").write_text("age,smokes\n" + "".join(f"{a!r},{a > 0}\n" for a in X_Q[:, 0].tolist()))
    fit = pre.KLIEP().fit(np.column_stack([X_P[:, 0] * 0.1, X_P[:, 0] > 0.1]), tmp_path / "q.csv")
    expected = np.column_stack([X_Q[:, 0], X_Q[:, 0] > 0])
    np.testing.assert_array_equal(fit.problem_.features_q, expected)


def test_dask_collections_have_the_full_summary():
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frames = [dd.from_pandas(pd.DataFrame(x, columns=["age", "dose"]), npartitions=2) for x in (X_P, X_Q)]
    for radius in (0.0, 0.1):
        far, near = (pre.KLIEP(radius=radius).fit(*x).summary(kind="centred") for x in (frames, (X_P, X_Q)))
        np.testing.assert_allclose(far.values, near.values, atol=1e-5)
        assert [name for name, _ in far.notes] == [name for name, _ in near.notes]
        assert Path(str(far.title)).name.startswith("KLIEP, n_p = 120")
