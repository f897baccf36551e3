# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of a model, as Hugging Face has them: model*.safetensors, which are read as any others
(`shoal.checkpoints`), their index, and config.json."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.checkpoints.dtypes import stored_name
from shoal.checkpoints.heads import head_of
from shoal.checkpoints.sources import SafetensorsSource, Source
from shoal.errors import InputError
from shoal.files import replace_file, replacing

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

    def where(self, name: str) -> str:
        """"FILE: " of the file that has the tensor; of all of them, where none has."""
        return f"{self._source.place(name) if name in self._source.arrays else self._source.path}: "


def open_model(path: str | os.PathLike[str]) -> Source:
    """The model of a folder, of an index, or of one file."""
    return SafetensorsSource(Path(path), f"{_STEM}*")


def write_model(
    folder: str | os.PathLike[str],
    tensors: Mapping[str, np.ndarray],
    config: Mapping[str, Any] | None,
    shard_bytes: int,
) -> None:
    """Writes config.json, where there is one, and model.safetensors, or files of at most so many bytes of tensors
    each (one tensor, where that has more) and their index, which is written last: without it nothing is read of some of
    the files.

    InputError where the folder has files of a model that would be read with these or in their place, before anything is
    written.
    """
    if shard_bytes < 1:
        raise InputError(f"{folder}: files of {shard_bytes} bytes; expected 1 or more")
    place, shards = Path(folder), _shards(tensors, shard_bytes)
    names = [f"{_STEM}-{i + 1:05}-of-{len(shards):05}.safetensors" for i in range(len(shards))]
    names = names if len(shards) > 1 else [f"{_STEM}.safetensors"]
    _check_others(place, names)
    _check_types(place, tensors)
    if config is not None:
        replace_file(place / "config.json", _text(config, place))
    for name, shard in zip(names, shards):
        write_file(place / name, {key: tensors[key] for key in shard})
    if len(shards) > 1:
        files = {key: name for name, shard in zip(names, shards) for key in shard}
        size = sum(array.nbytes for array in tensors.values())
        index = {"metadata": {"total_size": size}, "weight_map": dict(sorted(files.items()))}
        replace_file(place / f"{_STEM}{SafetensorsSource.INDEX}", _text(index, place))


def _shards(tensors: Mapping[str, np.ndarray], most: int) -> list[list[str]]:
    """Names in order, in runs of at most so many bytes."""
    runs: list[list[str]] = [[]]
    size = 0
    for name in sorted(tensors):
        size += tensors[name].nbytes
        if runs[-1] and size > most:
            runs.append([])
            size = tensors[name].nbytes
        runs[-1].append(name)
    return runs


def _check_others(folder: Path, names: Sequence[str]) -> None:
    indices = sorted(folder.glob(f"{_STEM}*{SafetensorsSource.INDEX}"))
    if indices:
        raise InputError(
            f"{folder}: has {indices[0].name}, by which other files than these would be read: "
            "write to another folder, or remove it and its files"
        )
    others = sorted({path.name for path in folder.glob(f"{_STEM}*.safetensors")} - set(names))
    if others:
        raise InputError(
            f"{folder}: has {others[0]}, which would be read beside {names[0]}, or in its place: "
            "write to another folder, or remove it"
        )


def _text(content: Mapping[str, Any], folder: Path) -> bytes:
    try:
        return (json.dumps(content, indent=2) + "\n").encode()
    except TypeError as error:
        raise InputError(f"{folder}: config.json: {error}") from None


def _check_types(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    for name in sorted(tensors):
        if stored_name(tensors[name].dtype) is None:
            raise InputError(f"{path}: {name!r}: files have no {tensors[name].dtype}")


def write_file(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray]) -> None:
    """Writes the tensors, in order of their names. The file is whole, or as it was before."""
    _check_types(Path(path), tensors)
    entries = {}
    for name in sorted(tensors):
        array = tensors[name]
        entries[name] = (stored_name(array.dtype), array.shape, array.nbytes)
    with replacing(path) as file:
        file.write(head_of(entries, {"format": "pt"}))
        for name in entries:
            file.write(np.ascontiguousarray(tensors[name]).tobytes())
