"""Samples in every form that is read block by block."""

import numpy as np
import polars as pl
import zarr

N, D = 3_000, 3


def written(kind, x, folder):
    """x in a file of this kind, or as another object that is read in blocks."""
    path = folder / f"x.{kind}"
    if kind == "npy":
        np.save(path, x)
    elif kind == "fortran":
        path = folder / "x.npy"
        np.save(path, np.asfortranarray(x))
    elif kind == "memmap":
        np.save(folder / "m.npy", x)
        return np.load(folder / "m.npy", mmap_mode="r")
    elif kind == "part of a memmap":
        np.save(folder / "m.npy", np.concatenate([x + 1.0, x]))
        return np.load(folder / "m.npy", mmap_mode="r")[len(x) :]
    elif kind == "parquet":
        pl.DataFrame(x, schema=list("abc")).write_parquet(path, row_group_size=170)
    elif kind == "folder":
        path = folder / "parts"
        path.mkdir()
        for i in range(0, len(x), 900):
            pl.DataFrame(x[i : i + 900], schema=list("abc")).write_parquet(path / f"{i:05}.parquet", row_group_size=400)
    elif kind == "zarr":
        zarr.create_array(str(path), data=x, chunks=(128, D))
    elif kind == "zarr array":
        return zarr.create_array(str(folder / "y.zarr"), data=x, chunks=(128, D))
    elif kind == "functions":
        return [lambda i=i: x[i : i + 700] for i in range(0, len(x), 700)]
    elif kind == "frame":
        return pl.DataFrame(x, schema=list("abc"))
    return path


KINDS = [
    "npy",
    "fortran",
    "memmap",
    "part of a memmap",
    "parquet",
    "folder",
    "zarr",
    "zarr array",
    "functions",
    "frame",
]
