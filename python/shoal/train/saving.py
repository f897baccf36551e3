# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small state in one file: NumPy's .npz, an array for each leaf by its name. What is large, or
on many ranks, is `shoal.checkpoints`'."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np

from shoal.checkpoints.names import check_names, check_spec
from shoal.errors import InputError
from shoal.files import replacing
from shoal.frontend import pytrees
from shoal.frontend.tracing import TensorSpec
from shoal.train.processes import is_first, job_of, raise_together

__all__ = ["load", "save"]

Tree = Any


def save(path: str | os.PathLike[str], state: Tree) -> None:
    """Writes a tree of arrays; a file that is there is replaced by a whole one, or stays.

    In an MPI job it is collective: arrays come together one by one on the first rank, which
    writes them. OSError there is raised on every rank.
    """
    job = job_of(state)
    names, leaves = _names(state), pytrees.flatten(state)[0]
    arrays = (np.asarray(leaf) for leaf in leaves)
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


def load(path: str | os.PathLike[str], like: Tree) -> Tree:
    """The state of a file, as NumPy's arrays in a tree like `like`: arrays or TensorSpecs.

    In an MPI job every rank reads the file. InputError where it has other arrays.
    """
    leaves, spec = pytrees.flatten(like)
    names = _names(like)
    try:
        with np.load(path, allow_pickle=False) as file:
            check_names(set(file.files), set(names), path)
            arrays = [_typed(file[name], leaf, name, path) for name, leaf in zip(names, leaves)]
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: is no saved state: {error}") from error
    return pytrees.unflatten(spec, arrays)


def _names(tree: Tree) -> list[str]:
    """params/layers/wi: the keys that lead to each leaf."""
    return ["/".join(map(str, path)) or "state" for path in pytrees.paths(tree)]


def _typed(array: np.ndarray, leaf: Any, name: str, path: Any) -> np.ndarray:
    """Types of ml_dtypes come as bytes."""
    wanted = TensorSpec.of(leaf, name)
    if array.dtype.kind == "V" and array.dtype.itemsize == wanted.dtype.itemsize:
        array = array.view(wanted.dtype)
    check_spec(array, wanted, name, path)
    return array
