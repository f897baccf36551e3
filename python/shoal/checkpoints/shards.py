# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing a shard: the pieces of one device, in a safetensors file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shoal.checkpoints.checksums import BLOCK, RunningChecksums, block_count, crc32c
from shoal.checkpoints.dtypes import stored_as
from shoal.checkpoints.durable import write_at
from shoal.checkpoints.heads import head_of
from shoal.checkpoints.manifest import ShardEntry
from shoal.files import naming, sync_folder

TABLE = "__crc32c__"
# Bytes that are copied, checked and written at once: caches have them.
_CHUNK = 1 << 20


class NamedRows(NamedTuple):
    """A tensor of a shard; its rows may lie anywhere in memory."""

    name: str
    rows: np.ndarray


def shard_name(device: int, devices: int, save: str) -> str:
    return f"shard-{device:05}-of-{devices:05}-{save}.safetensors"


def write_shard(path: Path, pieces: Sequence[NamedRows]) -> ShardEntry:
    """Writes a new file, which is on the disk when this returns. OSError, which names it."""
    head = _head(pieces)
    size = sum(piece.rows.nbytes for piece in pieces)
    table_bytes = 4 * block_count(size)
    checks = RunningChecksums()
    with naming(path):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o666)
        try:
            offset = len(head) + table_bytes
            for chunk in _chunks(pieces):
                checks.add(chunk)
                write_at(descriptor, chunk, offset)
                offset += len(chunk)
            table = checks.table().tobytes()
            write_at(descriptor, head + table, 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    sync_folder(path.parent)
    return ShardEntry(path.name, offset, len(head) + table_bytes, crc32c(head + table))


def _head(pieces: Sequence[NamedRows]) -> bytes:
    blocks = block_count(sum(piece.rows.nbytes for piece in pieces))
    entries = {TABLE: ("U32", (blocks,), 4 * blocks)}
    for name, rows in pieces:
        dtype, shape = stored_as(rows.dtype, rows.shape)
        entries[name] = (dtype, shape, rows.nbytes)
    return head_of(entries, {"format": "shoal.checkpoint", "block_bytes": str(BLOCK)})


def _chunks(pieces: Sequence[NamedRows]) -> Iterator[np.ndarray]:
    """Bytes, in the order of the file; no copy of rows that lie so."""
    for _, rows in pieces:
        if rows.flags.c_contiguous:
            data = as_bytes(rows)
            for begin in range(0, len(data), _CHUNK):
                yield data[begin : begin + _CHUNK]
        elif rows.size:
            # A part of the first dimension at once, at least a row.
            step = max(1, _CHUNK * len(rows) // rows.nbytes)
            for begin in range(0, len(rows), step):
                yield as_bytes(np.ascontiguousarray(rows[begin : begin + step]))


def as_bytes(rows: np.ndarray) -> np.ndarray:
    """Of rows that lie one behind the other; no copy."""
    return rows.reshape(-1).view(np.uint8) if rows.size else np.empty(0, np.uint8)
