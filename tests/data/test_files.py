import os
import stat

import numpy as np
import pytest

from pre_convex.data.files import as_path, atomic_write, read_arrays, report_write_errors, write_arrays, write_text
from pre_convex.errors import DataError


def test_files_get_the_permissions_of_the_umask_without_changing_it(tmp_path, monkeypatch):
    """The umask belongs to the process: files of other threads would get wrong permissions in between."""
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")
            place = write_text(tmp_path / "a.txt", "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE(place.stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = write_text(tmp_path / "a.txt", "old")

    def fail(temporary):
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError) as error, report_write_errors("out", path):
        atomic_write(path, fail)
    assert error.value.argument == "out"
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_arrays_and_their_header_survive_a_file(tmp_path):
    write_arrays(tmp_path / "a.npz", 3, {"name": "δ"}, {"x": np.arange(3.0)})
    header, arrays = read_arrays(tmp_path / "a.npz", 3)
    assert header == {"format": 3, "name": "δ"}
    np.testing.assert_array_equal(arrays["x"], np.arange(3.0))
    with pytest.raises(DataError):
        read_arrays(tmp_path / "a.npz", 4)


@pytest.mark.parametrize("bad", [3, None, b"a", "a\0b"])
def test_only_names_of_files_are_paths(bad):
    with pytest.raises(DataError) as error:
        as_path(bad, "path")
    assert error.value.argument == "path"
