# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a checkpoint has: its arrays, how they are cut, and in which files the pieces lie."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
        return Manifest(
            content["save"],
            {name: _array_of(entry) for name, entry in content["arrays"].items()},
            tuple(entry and ShardEntry(**entry) for entry in content["shards"]),
            content["metadata"],
        )
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{place}: is damaged: {error}") from error


def _text(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _array_json(entry: ArrayEntry) -> dict[str, Any]:
    return vars(entry) | {"dtype": str(entry.dtype)}


def _array_of(entry: Mapping[str, Any]) -> ArrayEntry:
    cuts = tuple(tuple(dim) for dim in entry["cuts"])
    made = ArrayEntry(
        tuple(entry["shape"]), dtype_named(entry["dtype"]), entry["sharding"], cuts,
        tuple(entry["shards"]),
    )  # fmt: skip
    if len(cells(cuts)) != len(made.shards):
        raise ValueError(f"{len(cells(cuts))} pieces, but {len(made.shards)} shards")
    return made
