"""Sources: files and arrays that are read in blocks."""

import itertools
import pickle

import numpy as np
import polars as pl
import pytest
import zarr
from stored_samples import D, N, written

import pre_convex as pre
from pre_convex.data.parquet import ParquetSource
from pre_convex.data.sources import ArraySource, FileSource, open_source


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).normal(size=(N, D))


@pytest.mark.parametrize("dtype", ["float32", "int16", ">f8", "bool"])
def test_npy_files_of_other_types(dtype, x, tmp_path):
    numbers = (10 * x).astype(dtype)
    np.save(tmp_path / "x.npy", numbers)
    source = open_source(tmp_path / "x.npy", "x_q")
    assert isinstance(source, FileSource)
    np.testing.assert_array_equal(source.read(5, 900), numbers[5:900].astype(float))


@pytest.mark.parametrize("kind", ["npy", "folder", "zarr", "functions"])
def test_edges_cover_all_rows_and_blocks_can_be_read(kind, x, tmp_path):
    source = open_source(written(kind, x, tmp_path), "x_q")
    edges = source.edges(500)
    assert edges[0] == 0
    assert edges[-1] == N
    assert all(a < b for a, b in itertools.pairwise(edges))
    blocks = [source.read(a, b) for a, b in itertools.pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate(blocks), x)
    again = source if kind == "functions" else pickle.loads(pickle.dumps(source))
    np.testing.assert_array_equal(again.read(edges[1], edges[2]), blocks[1])


def test_a_whole_memory_map_is_read_from_its_file_and_a_part_is_not(x, tmp_path):
    assert isinstance(open_source(written("memmap", x, tmp_path), "x"), FileSource)
    assert isinstance(open_source(written("part of a memmap", x, tmp_path), "x"), ArraySource)


def test_parquet_reads_only_the_groups_it_needs(x, tmp_path):
    source = open_source(written("folder", x, tmp_path), "x_q")
    assert isinstance(source, ParquetSource)
    np.testing.assert_array_equal(source.read(950, 1_450), x[950:1_450])


def read_all(path):
    source = open_source(path, "x_q")
    return source.read(0, source.shape[0])


def refused(argument, word, path):
    """``open_source``, or reading what it opens, raises about this argument, with this word."""
    with pytest.raises(pre.DataError) as error:
        read_all(path)
    assert error.value.argument == str(argument)
    assert word in str(error.value)


def test_a_file_that_is_cut_after_it_was_opened_is_refused(x, tmp_path):
    path = tmp_path / "cut.npy"
    np.save(path, x)
    content = path.read_bytes()
    source = open_source(path, "x_q")
    mapped = open_source(np.load(path, mmap_mode="r"), "x_q")
    path.write_bytes(content[: len(content) // 2])
    for opened, word in ((source, "changed"), (mapped, "ends before row")):
        with pytest.raises(pre.DataError, match=word) as error:
            opened.read(0, N)
        assert error.value.argument == str(path)
    refused("x_q", "cut.npy", path)


def test_files_of_other_content_are_refused(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    refused("x_q", "objects.npy", tmp_path / "objects.npy")
    np.save(tmp_path / "text.npy", np.array([["a"]]))
    refused("x_q", "text.npy", tmp_path / "text.npy")
    (tmp_path / "no.parquet").write_text("nothing")
    refused(tmp_path / "no.parquet", "Parquet", tmp_path / "no.parquet")
    pl.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]}).write_parquet(tmp_path / "words.parquet")
    refused(tmp_path / "words.parquet", "'b'", tmp_path / "words.parquet")
    zarr.create_group(str(tmp_path / "group.zarr"))
    refused("x_q", "Zarr", tmp_path / "group.zarr")
    refused("x_q", "No such file", tmp_path / "nowhere.npy")
    (tmp_path / "empty").mkdir()
    refused("x_q", ".parquet", tmp_path / "empty")
    refused("x_q", "columns", [lambda: np.zeros((2, 3)), lambda: np.zeros((2, 2))])
