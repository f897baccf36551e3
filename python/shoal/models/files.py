# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of a model's tensors, model*.safetensors: read as any others (`shoal.checkpoints`)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from shoal.checkpoints.dtypes import stored_name
from shoal.checkpoints.heads import head_of
from shoal.checkpoints.sources import SafetensorsSource, Source
from shoal.errors import InputError
from shoal.files import replacing

__all__ = ["Tensors", "open_model", "write_file", "write_model"]

_STEM = "model"


class Tensors(Mapping[str, np.ndarray]):
    """A source's arrays by name; each is read when it is asked for."""

    def __init__(self, source: Source):
        self._source = source

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self._source.arrays:
            raise KeyError(name)
        return self._source.read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._source.arrays)

    def __len__(self) -> int:
        return len(self._source.arrays)


def open_model(path: str | os.PathLike[str]) -> Source:
    """The model of a folder, of an index, or of one file."""
    return SafetensorsSource(Path(path), f"{_STEM}*")


def write_model(folder: str | os.PathLike[str], tensors: Mapping[str, np.ndarray]) -> None:
    """Writes model.safetensors. InputError where the folder has an index: that names other files."""
    indices = sorted(Path(folder).glob(f"{_STEM}*{SafetensorsSource.INDEX}"))
    if indices:
        raise InputError(
            f"{folder}: has {indices[0].name}, by which other files than {_STEM}.safetensors would "
            "be read: write to another folder, or remove it and its files"
        )
    write_file(Path(folder) / f"{_STEM}.safetensors", tensors)


def write_file(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray]) -> None:
    """Writes the tensors, in order of their names. The file is whole, or as it was before."""
    entries = {}
    for name in sorted(tensors):
        array = tensors[name]
        kind = stored_name(array.dtype)
        if kind is None:
            raise InputError(f"{path}: {name!r}: files have no {array.dtype}")
        entries[name] = (kind, array.shape, array.nbytes)
    with replacing(path) as file:
        file.write(head_of(entries, {"format": "pt"}))
        for name in entries:
            file.write(np.ascontiguousarray(tensors[name]).tobytes())
