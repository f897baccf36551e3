# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a safetensors file begins with: the length of a JSON object, which says where tensors are."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
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
        head = json.loads(text, object_pairs_hook=unrepeated)
        metadata = head.pop(METADATA, {})
        entries = dict(head.items())
    except (AttributeError, KeyError, TypeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError(f"{METADATA} is {_shown(metadata)}; expected an object of texts")
    tensors = {name: _tensor(name, entry) for name, entry in entries.items()}
    for name, tensor in tensors.items():
        _check(name, tensor, data_bytes)
    _check_apart(tensors)
    return tensors, metadata


def unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of json.loads: an object. ValueError where a name stands twice, which other readers read otherwise."""
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)} stands there twice")
    return made


def _tensor(name: str, entry: Any) -> Tensor:
    """Of numbers that are integers: "3", true and 2.5 would be read as others."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("dtype"), str):
        raise ValueError(f"{name} is {_shown(entry)}; expected an object with dtype, shape and data_offsets")
    shape, offsets = entry.get("shape"), entry.get("data_offsets")
    for field, numbers in (("shape", shape), ("data_offsets", offsets)):
        if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
            raise ValueError(f"{name}: {field} {_shown(numbers)}: expected a list of integers")
    if len(offsets) != 2:
        raise ValueError(f"{name}: data_offsets {_shown(offsets)}: expected [begin, end]")
    return Tensor(entry["dtype"], stored_dtype(entry["dtype"]), tuple(shape), *offsets)


def _check(name: str, tensor: Tensor, data_bytes: int) -> None:
    if not 0 <= tensor.begin <= tensor.end <= data_bytes:
        raise ValueError(
            f"{name} lies at bytes {tensor.begin} to {tensor.end}, but there are {data_bytes}"
        )
    check_shape(name, tensor.shape)
    if tensor.dtype is None:
        return
    expected = math.prod(tensor.shape) * tensor.dtype.itemsize
    if tensor.end - tensor.begin != expected:
        raise ValueError(
            f"{name}: {tensor.stored}{list(tensor.shape)} has {expected} bytes, "
            f"but {tensor.end - tensor.begin} are given"
        )


def check_shape(name: str, shape: Sequence[int]) -> None:
    """ValueError where NumPy has no array of it, though it may have no elements."""
    if len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"{name} has {len(shape)} dimensions; NumPy has at most {_MOST_DIMENSIONS}")
    if min(shape, default=0) < 0:
        raise ValueError(f"{name}: shape {list(shape)} is negative")
    if math.prod(size for size in shape if size) > _MOST_ELEMENTS:
        raise ValueError(f"{name}: shape {list(shape)} is of more elements than there are addresses")


# Of NumPy 1: 32; arrays of complex numbers are stored in one dimension more.
_MOST_DIMENSIONS = 32
_MOST_ELEMENTS = 2**56


def _check_apart(tensors: Mapping[str, Tensor]) -> None:
    """No byte is of two tensors: what writes one would change the other."""
    listed = sorted((tensor.begin, tensor.end, name) for name, tensor in tensors.items() if tensor.end > tensor.begin)
    for (_, end, first), (begin, _, second) in zip(listed, listed[1:]):
        if begin < end:
            raise ValueError(f"{first} ends at byte {end}, but {second} begins at byte {begin}")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
