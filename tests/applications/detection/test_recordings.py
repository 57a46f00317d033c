"""Series and prior samples from files."""

import numpy as np
import pandas as pd
import pytest
from scipy.io import wavfile

import pre_convex as pre
from pre_convex.applications.detection.recordings import read_prior, read_recording


@pytest.mark.parametrize(
    ("dtype", "scale", "offset"), [(np.int16, 2**15, 0), (np.int32, 2**31, 0), (np.uint8, 128, 128), (np.float32, 1, 0)]
)
def test_sound_is_scaled_to_one(tmp_path, dtype, scale, offset):
    sound = np.sin(np.arange(100.0)) * 0.9
    wavfile.write(tmp_path / "a.wav", 8000, (sound * scale + offset).astype(dtype))
    found = read_recording(tmp_path / "a.wav")
    assert found.rate == 8000.0
    np.testing.assert_allclose(found.series, sound, atol=1.1 / min(scale, 1e7) if scale > 1 else 1e-6)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_only_the_chosen_columns_are_read(tmp_path, kind):
    frame = pd.DataFrame({"time": ["2023-01-01T00:00", "2023-01-01T00:10"], "v": [1.0, 2.0], "w": [3.0, 4.0]})
    path = tmp_path / f"a.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    np.testing.assert_array_equal(read_recording(path, ["w"]).series, [3.0, 4.0])
    np.testing.assert_array_equal(read_recording(path, ["w", "v"]).series, [[3.0, 1.0], [4.0, 2.0]])
    with pytest.raises(pre.DataError) as error:
        read_recording(path, ["u"])
    assert error.value.argument == "columns"
    with pytest.raises(pre.DataError, match="time"):
        read_recording(path)


@pytest.mark.parametrize("text", ["v\n1\n\n3\n", "v,w\n1,2\n\n3,4\n"])
def test_an_empty_line_within_a_series_is_refused(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(pre.DataError, match="line 3"):
        read_recording(tmp_path / "a.csv", ["v"])
    (tmp_path / "a.csv").write_text(text.replace("\n\n", "\n") + "\n\n")  # at the end it is ignored
    np.testing.assert_array_equal(read_recording(tmp_path / "a.csv", ["v"]).series, [1.0, 3.0])


def test_channels_of_sound_are_chosen_by_number(tmp_path):
    sound = np.column_stack([np.sin(np.arange(50.0)), np.cos(np.arange(50.0))]).astype(np.float32)
    wavfile.write(tmp_path / "a.wav", 8000, sound)
    assert read_recording(tmp_path / "a.wav").series.shape == (50, 2)
    np.testing.assert_array_equal(read_recording(tmp_path / "a.wav", ["1"]).series, sound[:, 1])
    with pytest.raises(pre.DataError) as error:
        read_recording(tmp_path / "a.wav", ["2"])
    assert error.value.argument == "columns"


def test_priors_are_read_from_plain_arrays_only(tmp_path):
    np.savez(tmp_path / "p.npz", x=np.zeros((3, 4, 2)))
    assert read_prior(tmp_path / "p.npz").shape == (3, 4, 2)
    np.savez(tmp_path / "objects.npz", x=np.array([{}], dtype=object))
    np.savez(tmp_path / "flat.npz", np.zeros(3))
    np.savez(tmp_path / "two.npz", a=np.zeros((3, 4)), b=np.zeros((3, 4)))
    np.save(tmp_path / "array.npy", np.zeros((3, 4)))
    for name, content in (("text.npz", b"no"), ("empty.npz", b"")):
        (tmp_path / name).write_bytes(content)
    for name in ("objects.npz", "flat.npz", "two.npz", "array.npy", "text.npz", "empty.npz", "absent.npz"):
        with pytest.raises(pre.DataError) as error:
            read_prior(tmp_path / name)
        assert error.value.argument.endswith(name)
