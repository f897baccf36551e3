# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a safetensors file begins with: the length of a JSON object, which says where tensors are."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from shoal.checkpoints.dtypes import stored_dtype

LENGTH_BYTES = 8
METADATA = "__metadata__"
TABLE = "__crc32c__"  # Shoal's: checksums of the blocks behind it
PAGE = 4096  # bytes; what writes past the system's cache begin and end at, in memory and in files
# As the library of the format has it.
MOST_BYTES = 100_000_000


class Tensor(NamedTuple):
    """dtype: None where it is of a type that Shoal has not, called `stored`.
    begin, end: in the bytes behind the head."""

    stored: str
    dtype: np.dtype | None
    shape: tuple[int, ...]
    begin: int
    end: int


def head_of(
    entries: Mapping[str, tuple[str, tuple[int, ...], int]],
    metadata: Mapping[str, str],
    end: int | None = None,
) -> bytes:
    """The head of a file with these tensors, one behind the other: type, shape and bytes of each.

    end: where in a page of 4096 bytes it ends; by default where it has to.
    """
    head: dict[str, Any] = {METADATA: dict(metadata)}
    begin = 0
    for name, (dtype, shape, size) in entries.items():
        head[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, begin + size]}
        begin += size
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % LENGTH_BYTES)
    if end is not None:
        text += b" " * ((end - LENGTH_BYTES - len(text)) % PAGE)
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


def parse_head(text: bytes, data_bytes: int) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the metadata. ValueError where it is no head of a file with so much behind it."""
    try:
        head = json.loads(text)
        metadata = head.pop(METADATA, {})
        tensors = {name: _tensor(entry) for name, entry in head.items()}
    except (AttributeError, KeyError, TypeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    for name, tensor in tensors.items():
        _check(name, tensor, data_bytes)
    return tensors, metadata


def _tensor(entry: Mapping[str, Any]) -> Tensor:
    begin, end = map(int, entry["data_offsets"])
    dtype = entry["dtype"]
    return Tensor(dtype, stored_dtype(dtype), tuple(map(int, entry["shape"])), begin, end)


def _check(name: str, tensor: Tensor, data_bytes: int) -> None:
    if not 0 <= tensor.begin <= tensor.end <= data_bytes:
        raise ValueError(
            f"{name} lies at bytes {tensor.begin} to {tensor.end}, but there are {data_bytes}"
        )
    if tensor.dtype is None:
        return
    if min(tensor.shape, default=0) < 0:
        raise ValueError(f"{name}: shape {list(tensor.shape)} is negative")
    expected = math.prod(tensor.shape) * tensor.dtype.itemsize
    if tensor.end - tensor.begin != expected:
        raise ValueError(
            f"{name}: {tensor.stored}{list(tensor.shape)} has {expected} bytes, "
            f"but {tensor.end - tensor.begin} are given"
        )
