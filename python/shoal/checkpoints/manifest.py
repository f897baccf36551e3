# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a checkpoint has: its arrays, how they are cut, and in which files the pieces lie."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.checkpoints.checksums import crc32c
from shoal.checkpoints.dtypes import dtype_named
from shoal.checkpoints.regions import Cuts, Region, cells, text_of
from shoal.errors import CheckpointError, InputError

NAME = "manifest.json"
FORMAT = "shoal.checkpoint"
VERSION = 1


@dataclass(frozen=True)
class ArrayEntry:
    """sharding: as the compiler prints it, for people.
    cuts: where it is cut in each dimension; shards: the number of each piece's, row-major."""

    shape: tuple[int, ...]
    dtype: np.dtype
    sharding: str
    cuts: Cuts
    shards: tuple[int, ...]


@dataclass(frozen=True)
class ShardEntry:
    """head_bytes: of the head and the table of checksums, whose checksum is head_crc32c."""

    file: str
    bytes: int
    head_bytes: int
    head_crc32c: int


@dataclass(frozen=True)
class Manifest:
    """save: a name that no other save has. shards: of each device; None: it has written none."""

    save: str
    arrays: dict[str, ArrayEntry]
    shards: tuple[ShardEntry | None, ...]
    metadata: dict[str, Any]


def shard_name(device: int, devices: int, word: str) -> str:
    """word: eight hexadecimal digits that no other save has."""
    return f"shard-{device:05}-of-{devices:05}-{word}.safetensors"


def is_shard_name(name: str) -> bool:
    return re.fullmatch(r"shard-\d{5,}-of-\d{5,}-[0-9a-f]{8}\.safetensors", name) is not None


def tensor_name(array: str, piece: Region, cuts: Cuts) -> str:
    """The name of a piece in its shard: the array's, where it is whole."""
    is_whole = all(len(dim) == 2 for dim in cuts)
    return array if is_whole else array + text_of(piece)


def dump(manifest: Manifest) -> bytes:
    """InputError where the metadata is nothing that JSON has."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "save": manifest.save,
        "arrays": {name: _array_json(entry) for name, entry in manifest.arrays.items()},
        "shards": [entry and vars(entry) for entry in manifest.shards],
        "metadata": manifest.metadata,
    }
    try:
        return _text(content | {"crc32c": crc32c(_text(content))})
    except (TypeError, ValueError) as error:
        raise InputError(f"metadata: {error}") from error


def parse(text: bytes, place: object) -> Manifest:
    """CheckpointError, which names the place, where it is damaged or of another version."""
    try:
        content = json.loads(text)
        given = content.pop("crc32c")
        if _text(content | {"crc32c": given}) != text or crc32c(_text(content)) != given:
            raise ValueError("its checksum is another one")
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            raise CheckpointError(
                f"{place}: expected {FORMAT} version {VERSION}, "
                f"got {content['format']} version {content['version']}"
            )
        shards = tuple(None if entry is None else _shard_of(entry) for entry in content["shards"])
        return Manifest(
            _text_in(content["save"]),
            {name: _array_of(name, entry, shards) for name, entry in content["arrays"].items()},
            shards,
            dict(content["metadata"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{place}: is damaged: {error}") from error


def _text(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _array_json(entry: ArrayEntry) -> dict[str, Any]:
    return vars(entry) | {"dtype": str(entry.dtype)}


def _shard_of(entry: Mapping[str, Any]) -> ShardEntry:
    """ValueError where it is no file of this folder."""
    made = ShardEntry(**entry)
    _whole(made.head_crc32c)
    if not is_shard_name(_text_in(made.file)):
        raise ValueError(f"{made.file!r} is no name of a shard")
    if not 0 <= _whole(made.head_bytes) <= _whole(made.bytes):
        raise ValueError(f"{made.file}: a head of {made.head_bytes} bytes of {made.bytes}")
    return made


def _array_of(
    name: str, entry: Mapping[str, Any], shards: Sequence[ShardEntry | None]
) -> ArrayEntry:
    """ValueError where it is not cut from end to end, or a piece lies in no shard."""
    cuts = tuple(tuple(map(_whole, dim)) for dim in entry["cuts"])
    made = ArrayEntry(
        tuple(map(_whole, entry["shape"])), dtype_named(entry["dtype"]), _text_in(entry["sharding"]), cuts,
        tuple(map(_whole, entry["shards"])),
    )  # fmt: skip
    if len(cuts) != len(made.shape) or not all(map(_is_cut, cuts, made.shape)):
        raise ValueError(f"{name}: cut at {entry['cuts']}, but its shape is {list(made.shape)}")
    if math.prod(len(dim) - 1 for dim in cuts) != len(made.shards):
        raise ValueError(f"{name}: {len(cells(cuts))} pieces, but {len(made.shards)} shards")
    for number in made.shards:
        if number >= len(shards) or shards[number] is None:
            raise ValueError(f"{name}: a piece lies in shard {number}, which there is not")
    return made


def _is_cut(cuts: Sequence[int], size: int) -> bool:
    """From 0 to the size, in pieces that have rows where there are any."""
    ascends = all(begin < end for begin, end in itertools.pairwise(cuts))
    return cuts == (0, size) or (len(cuts) > 2 and ascends and (cuts[0], cuts[-1]) == (0, size))


def _text_in(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a text, got {value!r}")
    return value


def _whole(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"expected a whole number, got {number!r}")
    return number
