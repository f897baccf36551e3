# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small state in one file: NumPy's .npz, an array for each leaf by its name. What is large, or
on many ranks, is `shoal.checkpoints`'."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shoal.checkpoints.loading import load_to
from shoal.checkpoints.names import check_unmasked, named_leaves, spec_of
from shoal.checkpoints.regions import Region, slices_of
from shoal.checkpoints.sources import ArrayInfo, Source
from shoal.errors import InputError
from shoal.files import replacing
from shoal.frontend import pytrees
from shoal.train.processes import is_first, job_of, raise_together

__all__ = ["load", "save"]

Tree = Any


def save(path: str | os.PathLike[str], state: Tree) -> None:
    """Writes a tree of arrays; a file that is there is replaced by a whole one, or stays.

    In an MPI job it is collective: arrays come together one by one on the first rank, which
    writes them. OSError there is raised on every rank.
    """
    job = job_of(state)
    leaves = named_leaves(state)
    for name, leaf in leaves:
        check_unmasked(leaf, name)
    names = [name for name, _ in leaves]
    arrays = (np.asarray(leaf) for _, leaf in leaves)
    error = _write(path, names, arrays) if is_first(job) else None
    for _ in arrays:
        pass  # of all ranks, also where one cannot write any more
    raise_together(job, error)


def _write(
    path: str | os.PathLike[str], names: Iterable[str], arrays: Iterable[np.ndarray]
) -> OSError | None:
    try:
        with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, array in zip(names, arrays):
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
    except OSError as error:
        return error
    return None


def load(path: str | os.PathLike[str], like: Tree, *, strict: bool = True) -> Tree:
    """The state of a file, as NumPy's arrays in a tree like `like`: arrays or TensorSpecs.

    strict: as `checkpoints.load` has it, which finds arrays the same way.

    In an MPI job every rank reads the file. InputError where it has other arrays.
    """
    leaves = pytrees.flatten(like)[0]
    try:
        with np.load(path, allow_pickle=False) as file:
            source = _Arrays(Path(path), _typed(file, like))
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: is no saved state: {error}") from error
    return load_to(source, like, [None] * len(leaves), partial=False, strict=strict)


class _Arrays(Source):
    """Of a file that was read."""

    def __init__(self, path: Path, arrays: Mapping[str, np.ndarray]):
        self.path = path
        self.metadata: dict[str, Any] = {}
        self.arrays = {name: ArrayInfo(array.shape, array.dtype) for name, array in arrays.items()}
        self._read = arrays

    def read_into(self, name: str, region: Region, out: np.ndarray) -> None:
        out[...] = self._read[name][slices_of(region)]

    @property
    def bytes_read(self) -> int:
        return sum(array.nbytes for array in self._read.values())

    def close(self) -> None:
        self._read = {}


def _typed(file: Mapping[str, np.ndarray], like: Tree) -> dict[str, np.ndarray]:
    """The arrays of a file, in which types of ml_dtypes come as bytes: of the type that the tree has
    by their name, or that alone of this size."""
    wanted = {name: spec_of(leaf)[1] for name, leaf in named_leaves(like)}
    of_size = {dtype.itemsize: dtype for dtype in wanted.values() if dtype.kind == "V"}
    made = {}
    for name, array in file.items():
        dtype = wanted.get(name, of_size.get(array.dtype.itemsize, array.dtype))
        is_bytes = array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize
        made[name] = array.view(dtype) if is_bytes else array
    return made
