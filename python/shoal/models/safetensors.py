# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of a model's tensors: heads as checkpoints have them, and the elements behind.

Read by mapping the file, so that only what is used comes into memory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from shoal.checkpoints.dtypes import stored_name
from shoal.checkpoints.heads import LENGTH_BYTES, MOST_BYTES, Tensor, head_of, parse_head
from shoal.errors import InputError
from shoal.files import replacing

__all__ = ["read_file", "read_folder", "write_file"]


def read_file(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The tensors by name, as views of the mapped file. InputError says what is wrong with it."""
    if os.path.getsize(path) < LENGTH_BYTES:
        raise InputError(f"{path}: {os.path.getsize(path)} bytes are no safetensors file")
    data = np.memmap(path, np.uint8, "r")
    length = int(data[:LENGTH_BYTES].view("<u8")[0])
    begin = LENGTH_BYTES + length
    if length > MOST_BYTES or begin > len(data):
        raise InputError(f"{path}: a header of {length} bytes in a file of {len(data)}")
    try:
        tensors, _ = parse_head(bytes(data[LENGTH_BYTES:begin]), len(data) - begin)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None
    return {name: _elements(f"{path}: {name!r}", data[begin:], t) for name, t in tensors.items()}


def _elements(what: str, data: np.ndarray, tensor: Tensor) -> np.ndarray:
    if tensor.dtype is None:
        raise InputError(f"{what} has elements of type {tensor.stored}, which Shoal has not")
    return np.asarray(data[tensor.begin : tensor.end]).view(tensor.dtype).reshape(tensor.shape)


def read_folder(folder: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The tensors of all of a model's files, model*.safetensors."""
    files = sorted(Path(folder).glob("model*.safetensors"))
    if not files:
        raise InputError(f"{folder}: no model*.safetensors")
    tensors: dict[str, np.ndarray] = {}
    for file in files:
        tensors.update(read_file(file))
    return tensors


def write_file(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray]) -> None:
    """The tensors, in order of their names. The file is whole, or as it was before."""
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
