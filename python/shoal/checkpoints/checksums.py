# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""CRC32C of the blocks of a file."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.errors import ShoalError

BLOCK = 1 << 14  # bytes that have one checksum


@functools.cache
def _implementation() -> Callable[[Any], int]:
    try:
        import google_crc32c
    except ImportError as error:
        raise ShoalError(
            "checkpoints need the package google-crc32c: pip install google-crc32c"
        ) from error
    return google_crc32c.value


@functools.cache
def _unlocked() -> Callable[[int, int], int] | None:
    """Of an address and a number of bytes, by the C function of that package's library, which other
    threads need not wait for: the package keeps the interpreter's lock. None where it has no library."""
    _implementation()
    try:
        from google_crc32c import _crc32c

        function = ctypes.CDLL(_crc32c.__file__).crc32c_value
    except (ImportError, OSError, AttributeError):
        return None
    function.restype = ctypes.c_uint32
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    return function


def crc32c(data: bytes | np.ndarray) -> int:
    """Of bytes, or of an array of them."""
    return _implementation()(data)


def block_count(size: int) -> int:
    return -(-size // BLOCK)


def checksums(data: np.ndarray) -> list[int]:
    """Of each block of an array of bytes that lie one behind the other."""
    unlocked, size = _unlocked(), len(data)
    if unlocked is None:
        value = _implementation()
        return [value(data[begin : begin + BLOCK]) for begin in range(0, size, BLOCK)]
    assert data.flags.c_contiguous
    address = data.ctypes.data
    return [
        unlocked(address + begin, min(BLOCK, size - begin)) for begin in range(0, size, BLOCK)
    ]


class RunningChecksums:
    """Of blocks of bytes that come in parts of any size."""

    def __init__(self) -> None:
        self._done: list[int] = []
        self._rest = np.empty(BLOCK, np.uint8)
        self._filled = 0

    def add(self, data: np.ndarray) -> None:
        begin = 0
        if self._filled:
            begin = min(BLOCK - self._filled, len(data))
            self._fill(data[:begin])
        end = begin + (len(data) - begin) // BLOCK * BLOCK
        self._done += checksums(data[begin:end])
        self._fill(data[end:])

    def _fill(self, data: np.ndarray) -> None:
        self._rest[self._filled : self._filled + len(data)] = data
        self._filled += len(data)
        if self._filled == BLOCK:
            self._end()

    def _end(self) -> None:
        self._done.append(crc32c(self._rest[: self._filled]))
        self._filled = 0

    def table(self) -> np.ndarray:
        """Of all that came, a number for each block."""
        if self._filled:
            self._end()
        return np.array(self._done, "<u4")
