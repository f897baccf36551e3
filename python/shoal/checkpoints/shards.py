# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writing a shard: the pieces of one device, in a safetensors file."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from shoal.checkpoints.checksums import BLOCK, RunningChecksums, block_count, crc32c
from shoal.checkpoints.dtypes import stored_as
from shoal.checkpoints.durable import write_at
from shoal.checkpoints.heads import PAGE, TABLE, head_of
from shoal.checkpoints.manifest import ShardEntry
from shoal.files import naming, sync_folder

# Bytes that are copied, checked and written at once: caches have them.
_CHUNK = 1 << 20
# The same of what goes to the disk past the system's cache.
_DIRECT_CHUNK = 1 << 22


class NamedRows(NamedTuple):
    """A tensor of a shard; its rows may lie anywhere in memory."""

    name: str
    rows: np.ndarray


class Contents(NamedTuple):
    """Of a shard. image: where the rows lie one behind the other as in the file, these bytes, from
    the beginning of a page on."""

    pieces: Sequence[NamedRows]
    image: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        return sum(piece.rows.nbytes for piece in self.pieces)

    @property
    def is_direct(self) -> bool:
        """Whether it is written past the system's cache."""
        return self.image is not None and len(self.image) >= _CHUNK


def write_shard(path: Path, contents: Contents) -> ShardEntry:
    """Writes a new file, which is on the disk when this returns. OSError, which names it."""
    head = _head(contents)
    table_bytes = 4 * block_count(contents.nbytes)
    checks = RunningChecksums()
    with naming(path):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o666)
        try:
            offset = len(head) + table_bytes
            for chunk, is_direct in _chunks(contents):
                checks.add(chunk)
                _write(descriptor, chunk, offset, is_direct)
                offset += len(chunk)
            _set_direct(descriptor, False)
            table = checks.table().tobytes()
            write_at(descriptor, head + table, 0)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    sync_folder(path.parent)
    return ShardEntry(path.name, offset, len(head) + table_bytes, crc32c(head + table))


def _write(descriptor: int, chunk: np.ndarray, offset: int, is_direct: bool) -> None:
    _set_direct(descriptor, is_direct)
    try:
        write_at(descriptor, chunk, offset)
    except OSError as error:
        if not is_direct or error.errno != errno.EINVAL:
            raise
        # One that says only now that it cannot.
        _set_direct(descriptor, False)
        write_at(descriptor, chunk, offset)


def _set_direct(descriptor: int, is_direct: bool) -> None:
    """Writes go past the system's cache from now on, or do not; not where a file system cannot."""
    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    wanted = flags | os.O_DIRECT if is_direct else flags & ~os.O_DIRECT
    if wanted != flags:
        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETFL, wanted)


def _head(contents: Contents) -> bytes:
    blocks = block_count(contents.nbytes)
    entries = {TABLE: ("U32", (blocks,), 4 * blocks)}
    for name, rows in contents.pieces:
        dtype, shape = stored_as(rows.dtype, rows.shape)
        entries[name] = (dtype, shape, rows.nbytes)
    metadata = {"format": "shoal.checkpoint", "block_bytes": str(BLOCK)}
    # What is behind the table begins a page where it is written by pages.
    return head_of(entries, metadata, (-4 * blocks) % PAGE if contents.is_direct else None)


def _chunks(contents: Contents) -> Iterator[tuple[np.ndarray, bool]]:
    """Bytes, in the order of the file, and whether they are whole pages that are written past the
    system's cache; no copy of rows that lie so."""
    if contents.is_direct:
        assert contents.image is not None
        pages = len(contents.image) // PAGE * PAGE
        for begin in range(0, pages, _DIRECT_CHUNK):
            yield contents.image[begin : min(begin + _DIRECT_CHUNK, pages)], True
        yield contents.image[pages:], False
        return
    for _, rows in contents.pieces:
        if rows.flags.c_contiguous:
            data = as_bytes(rows)
            for begin in range(0, len(data), _CHUNK):
                yield data[begin : begin + _CHUNK], False
        elif rows.size:
            # A part of the first dimension at once, at least a row.
            step = max(1, _CHUNK * len(rows) // rows.nbytes)
            for begin in range(0, len(rows), step):
                yield as_bytes(np.ascontiguousarray(rows[begin : begin + step])), False


def as_bytes(rows: np.ndarray) -> np.ndarray:
    """Of rows that lie one behind the other; no copy."""
    return rows.reshape(-1).view(np.uint8) if rows.size else np.empty(0, np.uint8)
