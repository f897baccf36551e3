# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of tensors of a safetensors file: only the bytes that they are, in whole blocks where these
have checksums."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from shoal.checkpoints.checksums import BLOCK, checksums
from shoal.checkpoints.heads import LENGTH_BYTES, MOST_BYTES, Tensor, parse_head
from shoal.checkpoints.regions import Region
from shoal.errors import CheckpointError
from shoal.files import naming

_CHUNK = 1 << 20  # bytes that are read at once, at most: caches have them


class TensorFile:
    """A safetensors file.

    tensors: where each is, by name. bytes_read: so far.
    CheckpointError where it is none, or is shorter than its head says.
    """

    def __init__(self, path: Path):
        self.path = path
        self.bytes_read = 0
        self._table: np.ndarray | None = None
        self._blame: Callable[[int, int], str] = lambda begin, end: ""
        # The blocks that were read last, and where they begin.
        self._kept = (0, np.empty(0, np.uint8))
        self._memory = np.empty(0, np.uint8)
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.size = os.fstat(self._descriptor).st_size
            length = int.from_bytes(self._pread(0, min(LENGTH_BYTES, self.size)), "little")
            self.data_begin = LENGTH_BYTES + length
            if self.size < LENGTH_BYTES or length > MOST_BYTES or self.data_begin > self.size:
                raise ValueError(f"{self.size} bytes, of which the head would be {length}")
            head = bytes(self._pread(LENGTH_BYTES, length))
            self.tensors, self.metadata = parse_head(head, self.size - self.data_begin)
        except ValueError as error:
            self.close()
            raise CheckpointError(f"{path}: is damaged, or no safetensors file: {error}") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        os.close(self._descriptor)

    def check_by(self, table: np.ndarray, begin: int, blame: Callable[[int, int], str]) -> None:
        """From now on bytes are checked: the blocks from `begin` on have these checksums.

        blame: what lies between two places, for messages.
        """
        self._table, self._checked_begin, self._blame = table, begin, blame

    def read(self, tensor: Tensor, region: Region, out: np.ndarray) -> None:
        """Writes these rows of a tensor to `out`, which has their shape."""
        if not out.size:
            return
        # complex128 is stored as floats, in one dimension more.
        shape = tensor.shape[: len(region)]
        self._read_box(self.data_begin + tensor.begin, shape, region, out)

    def _read_box(
        self, begin: int, shape: Sequence[int], region: Region, out: np.ndarray
    ) -> None:
        """By the first dimension: all at once where the rows lie so, in full rows where these are
        so short that their blocks would be read anyway, else row by row."""
        if not shape:
            out[...] = self.bytes_at(begin, begin + out.itemsize).view(out.dtype)[0]
            return
        pitch = math.prod(shape[1:]) * out.itemsize
        first, last = region[0]
        is_full = all(dim == (0, size) for dim, size in zip(region[1:], shape[1:]))
        if is_full or pitch <= 2 * BLOCK:
            step = max(1, _CHUNK // pitch)
            inner = tuple(slice(*dim) for dim in region[1:])
            for row in range(first, last, step):
                end = min(row + step, last)
                data = self.bytes_at(begin + row * pitch, begin + end * pitch)
                full = data.view(out.dtype).reshape(end - row, *shape[1:])
                out[row - first : end - first] = full[(slice(None), *inner)]
            return
        for row in range(first, last):
            self._read_box(begin + row * pitch, shape[1:], region[1:], out[row - first])

    def bytes_at(self, begin: int, end: int) -> np.ndarray:
        """Valid until the next call."""
        if self._table is None:
            return self._pread(begin, end - begin)
        first = (begin - self._checked_begin) // BLOCK
        last = -(-(end - self._checked_begin) // BLOCK)
        base = self._checked_begin + first * BLOCK
        stop = min(self._checked_begin + last * BLOCK, self.size)
        kept_begin, kept = self._kept
        if not kept_begin <= base <= stop <= kept_begin + len(kept):
            kept = self._pread(base, stop - base)
            self._check(kept, first)
            self._kept = kept_begin, kept = base, kept
        return kept[begin - kept_begin : end - kept_begin]

    def _check(self, data: np.ndarray, first: int) -> None:
        assert self._table is not None
        found = checksums(data)
        expected = self._table[first : first + len(found)].tolist()
        if found == expected:
            return
        bad = next(i for i, (one, other) in enumerate(zip(found, expected)) if one != other)
        begin = self._checked_begin + (first + bad) * BLOCK
        end = min(begin + BLOCK, self.size)
        raise CheckpointError(
            f"{self.path}: bytes {begin} to {end} are damaged{self._blame(begin, end)}: "
            f"CRC32C {found[bad]:#010x}, expected {expected[bad]:#010x}"
        )

    def _pread(self, begin: int, count: int) -> np.ndarray:
        if len(self._memory) < count:
            self._memory = np.empty(count, np.uint8)
        self._kept = (0, self._memory[:0])
        data = self._memory[:count]
        done = 0
        while done < count:
            got = self._pread_some(memoryview(data)[done:], begin + done)
            if got == 0:
                raise CheckpointError(
                    f"{self.path}: ends at byte {begin + done}, expected {begin + count} or more"
                )
            done += got
        self.bytes_read += count
        return data

    def _pread_some(self, out: memoryview, begin: int) -> int:
        """CheckpointError where the disk has lost it."""
        try:
            with naming(self.path):
                return os.preadv(self._descriptor, [out], begin)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            raise CheckpointError(
                f"{self.path}: cannot be read from byte {begin} on: {error.strerror}"
            ) from error
