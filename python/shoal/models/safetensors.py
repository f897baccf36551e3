# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of tensors: safetensors, a header in JSON and the elements behind it.

Read by mapping the file, so that only what is used comes into memory, in all types that programs
have, bfloat16 and float8 among them; that is why no library is used, whose NumPy side has no such types.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from shoal.errors import InputError

__all__ = ["read_file", "read_folder", "write_file"]

_TYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
    "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
    "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in _TYPES.items()}
_LONGEST = 100_000_000  # bytes of a header, as the format says


def read_file(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The tensors by name, as views of the mapped file. InputError says what is wrong with it."""
    if os.path.getsize(path) < 8:
        raise InputError(f"{path}: {os.path.getsize(path)} bytes are no safetensors file")
    data = np.memmap(path, np.uint8, "r")
    length = int(data[:8].view("<u8")[0])
    if length > min(len(data) - 8, _LONGEST):
        raise InputError(f"{path}: a header of {length} bytes in a file of {len(data)}")
    try:
        header = json.loads(bytes(data[8 : 8 + length]))
    except ValueError as error:
        raise InputError(f"{path}: the header is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise InputError(f"{path}: the header is no object")
    header.pop("__metadata__", None)
    return {name: _tensor(f"{path}: {name!r}", data[8 + length :], entry) for name, entry in header.items()}


def _tensor(what: str, data: np.ndarray, entry: Any) -> np.ndarray:
    try:
        name, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{what}: expected dtype, shape and data_offsets, got {entry}") from None
    if name not in _TYPES:
        raise InputError(f"{what}: dtype {name} is not one of {sorted(_TYPES)}")
    kind = np.dtype(_TYPES[name])
    size = kind.itemsize * int(np.prod(shape, dtype=np.int64))
    if not 0 <= begin <= end <= len(data) or end - begin != size:
        raise InputError(f"{what}: {size} bytes of {name}{list(shape)} at {begin} ... {end} of {len(data)}")
    return np.asarray(data[begin:end]).view(kind).reshape(shape)


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
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name in sorted(tensors):
        array = tensors[name]
        if array.dtype not in _NAMES:
            raise InputError(f"{path}: {name!r}: files have no {array.dtype}")
        ends = [offset, offset + array.nbytes]
        header[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": ends}
        offset = ends[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    partial = Path(f"{path}.partial")
    with open(partial, "wb") as file:
        file.write(np.uint64(len(text)).astype("<u8").tobytes() + text)
        for name in sorted(tensors):
            file.write(np.ascontiguousarray(tensors[name]).tobytes())
    os.replace(partial, path)
