# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory that arrays on devices lie in."""

from __future__ import annotations

import mmap
import os
import resource
import sys
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable

import numpy as np

from shoal.devices.addresses import AddressSpace
from shoal.errors import RunError

LINE = 64  # bytes; where arrays begin
_PAGE = mmap.PAGESIZE
_LEAST = 1 << 20  # bytes; less is no memory for arrays


def round_up(size: int, unit: int = LINE) -> int:
    return -(-size // unit) * unit


class Block:
    """A piece of memory, which is free again when this object and all views of it are gone."""

    __slots__ = ("__weakref__", "_bytes", "begin", "memory", "size")

    def __init__(self, memory: Memory, begin: int, size: int):
        self.memory = memory
        self.begin = begin
        self.size = size
        self._bytes: weakref.ref[np.ndarray] | None = None

    @property
    def has_views(self) -> bool:
        return self._bytes is not None and self._bytes() is not None

    def view(self, begin: int, size: int) -> np.ndarray:
        """Bytes that cannot be written to, at an address of the memory."""
        whole = self._bytes and self._bytes()
        if whole is None:
            whole = np.asarray(_Bytes(self))
            # All views have this array as their base.
            self._bytes = weakref.ref(whole)
        return whole[begin - self.begin : begin - self.begin + size]

    def __del__(self, _is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # With the process its memory goes, and modules may be gone before.
        if not _is_finalizing():
            self.memory.free(self.begin, self.size)


class _Bytes:
    """What NumPy makes an array of; holds the block."""

    def __init__(self, block: Block):
        self._block = block

    @property
    def __array_interface__(self) -> dict[str, object]:
        block = self._block
        return {
            "version": 3,
            "typestr": "|u1",
            "shape": (block.size,),
            "data": (block.memory.address + block.begin, True),
        }


class Memory:
    """A stretch of memory from which blocks are taken.

    Blocks that are free again are kept, for those of the same size that come
    next: at most as many bytes as are in use, or a 32nd of the machine's memory if
    that is more; others go back to the system. A child of os.fork can read blocks, no more.

    file: by which other processes may map it, an anonymous one of the kernel's,
    which has no name and goes with the last process that has it.
    size: of the file, in bytes, few of which are there: those that were allocated.
    """

    def __init__(self) -> None:
        """RunError where the process has no addresses left."""
        self._open()
        self._owner = os.getpid()
        self._turn = threading.Lock()
        self._space = AddressSpace(self.size)
        # Blocks that are gone: a collection of garbage may come at any time, also
        # in the middle of what follows.
        self._gone: deque[tuple[int, int]] = deque()
        # Free blocks that are kept, by begin, the oldest first; begins by size.
        self._kept: OrderedDict[int, int] = OrderedDict()
        self._kept_by_size: dict[int, dict[int, None]] = {}
        self.in_use = 0
        self.kept = 0

    def _open(self) -> None:
        self.file = os.memfd_create("shoal-arrays", os.MFD_CLOEXEC)
        # Not as Python ends: a thread that is in a call may be sending it.
        weakref.finalize(self, os.close, self.file).atexit = False
        self._map = _map_whole(self.file)
        self.size = len(self._map)
        self.bytes = np.frombuffer(self._map, np.uint8)
        self.address = self.bytes.ctypes.data
        # What arrays may take.
        self.capacity = _physical_memory()

    def prepare(self, shares: list[int]) -> None:
        """Is told what machines have for each process, before anything is allocated."""

    def allocate(self, size: int) -> Block:
        """A block of at least this size, of any contents; RunError if there is no memory."""
        if os.getpid() != self._owner:
            raise RunError("these devices are those of the process that was forked")
        size = round_up(max(size, 1), LINE if size < _PAGE else _PAGE)
        with self._turn:
            self._settle()
            begin = self._reuse(size)
            if begin is None:
                begin = self._take(size)
            self.in_use += size
        return Block(self, begin, size)

    def free(self, begin: int, size: int) -> None:
        """Of blocks that are gone, in whichever thread that is found."""
        self._gone.append((begin, size))
        if self._turn.acquire(blocking=False):
            try:
                self._settle()
            finally:
                self._turn.release()

    def _settle(self) -> None:
        """Keeps what is gone, and gives back what is too much."""
        if os.getpid() != self._owner:
            return
        while self._gone:
            begin, size = self._gone.popleft()
            self.in_use -= size
            self.kept += size
            self._kept[begin] = size
            self._kept_by_size.setdefault(size, {})[begin] = None
        self._trim(max(_always_kept(), self.in_use))

    def _reuse(self, size: int) -> int | None:
        begins = self._kept_by_size.get(size)
        if not begins:
            return None
        begin, _ = begins.popitem()
        self._forget(begin)
        return begin

    def _forget(self, begin: int) -> int:
        """No longer keeps a block; its size."""
        size = self._kept.pop(begin)
        self.kept -= size
        begins = self._kept_by_size[size]
        begins.pop(begin, None)
        if not begins:
            del self._kept_by_size[size]
        return size

    def _trim(self, limit: int) -> None:
        while self.kept > limit:
            begin = next(iter(self._kept))
            self._give_back(begin, self._forget(begin))

    def _give_back(self, begin: int, size: int) -> None:
        """The pages that nothing else is in go back to the system."""
        free_begin, free_end = self._space.give(begin, size)
        first = max(round_up(free_begin, _PAGE), begin // _PAGE * _PAGE)
        last = min(free_end // _PAGE * _PAGE, round_up(begin + size, _PAGE))
        if first < last:
            self._drop(first, last - first)

    def _drop(self, begin: int, size: int) -> None:
        self._map.madvise(mmap.MADV_REMOVE, begin, size)

    def _promise(self, begin: int, size: int) -> None:
        """OSError where the system does not have it."""
        os.posix_fallocate(self.file, begin, size)

    def _take(self, size: int) -> int:
        """Memory that is new, and promised: writing to it does not fail later."""
        begin = self._space.take(size) if self._fits(size) else None
        if begin is None and self.kept:
            self._trim(0)
            begin = self._space.take(size) if self._fits(size) else None
        if begin is None:
            raise self._shortage(size)
        try:
            self._promise(begin, size)
        except OSError:
            self._give_back(begin, size)
            raise self._shortage(size) from None
        return begin

    def _fits(self, size: int) -> bool:
        return self.in_use + self.kept + size <= self.capacity

    def _shortage(self, size: int) -> RunError:
        return RunError(
            f"not enough memory: {size} bytes for arrays on devices, "
            f"which have {self.in_use} of the machine's {self.capacity} bytes"
        )


def _physical_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * _PAGE


def _always_kept() -> int:
    return _physical_memory() // 32


def _map_whole(file: int) -> mmap.mmap:
    """Maps the file, of twice the machine's memory or of what the process may have.

    Free ranges may lie between others. A worker has programs and libraries beside it.
    """
    size = 2 * _physical_memory()
    for limit in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY:
            size = min(size, soft // 4)
    size = size // _PAGE * _PAGE
    while size >= _LEAST:
        os.ftruncate(file, size)
        try:
            return mmap.mmap(file, size)
        except OSError:  # other things have the addresses
            size = size // 2 // _PAGE * _PAGE
    raise RunError("not enough memory: a process has no addresses for arrays on devices")
