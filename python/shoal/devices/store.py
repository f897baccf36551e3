# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Putting arrays on devices."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.devices.array import Array, Home, Kind
from shoal.devices.memory import Memory, round_up
from shoal.devices.placement import Placement, Slices, common_rows, within
from shoal.devices.turn import Turn
from shoal.errors import InputError, RunError
from shoal.executable.signature import Tensor, as_array


class Store(Home):
    """The arrays of some devices.

    count: how many devices there are.
    turn: what steps take one after the other, whichever threads they are of.
    """

    def __init__(self, count: int, memory: Memory, ranks: range):
        self.count = count
        self.memory = memory
        self.ranks = ranks
        self.turn = Turn()
        self._owner = os.getpid()
        self._kinds: weakref.WeakValueDictionary[Placement, Kind] = weakref.WeakValueDictionary()

    def check_owner(self) -> None:
        """RunError in a child of os.fork: the devices are its parent's."""
        if os.getpid() != self._owner:
            raise RunError("these devices are those of the process that was forked")

    def put(self, value: Any, placement: Placement) -> Array:
        """The value on these devices; itself if it is there already.

        InputError where it has another shape or type. Numbers of Python do for
        scalars.
        """
        tensor = Tensor(
            "value", placement.shape, placement.local_shape, placement.dtype, placement.sharding
        )
        return self.bring(value, placement, tensor, writable=False)[0]

    def fill(self, placement: Placement, read: Callable[[Slices, np.ndarray], None]) -> Array:
        """An array of what `read` writes: it is given the rows of the whole and the memory of
        each part that this process has, once where several devices have the same rows."""
        kind = self.kind_of(placement)
        array = self.new(placement, kind, shares=placement.is_whole)
        filled: dict[object, np.ndarray] = {}
        for rank in self.ranks if array.address[1] else self.ranks[:1]:
            rows = placement.slices[rank]
            memory = self._memory_of(array, rank)
            part = memory[(*placement.extents[rank], ...)]
            key = tuple((dim.start, dim.stop) for dim in rows)
            if key in filled:
                part[...] = filled[key]
            else:
                read(rows, part)
                filled[key] = part
            self._written(array, rank, memory)
        return array

    def kind_of(self, placement: Placement) -> Kind:
        """The placement on these devices; InputError where it is one of another number."""
        if placement.count != self.count:
            raise InputError(f"a placement on {placement.count} devices, but there are {self.count}")
        bare = placement.bare
        kind = self._kinds.get(bare)
        return self._kinds.setdefault(bare, Kind(self, bare)) if kind is None else kind

    def bring(
        self, value: Any, placement: Placement, tensor: Tensor, *, writable: bool
    ) -> tuple[Array, bool]:
        """The value where a program reads it, and whether an array had to move for that.

        tensor: what messages speak of.
        writable: whether a step may write to it: parts that are alike do not share
        memory then.
        """
        kind = self.kind_of(placement)
        source = self.check(value, placement, tensor)
        if not isinstance(source, Array):
            return self._copy_in(source, placement, kind, writable), False
        if source.kind is kind:
            return source, False
        home = source.kind.home
        if home is not None and home.reaches_all:
            return self._move_in(source, placement, kind, writable), True
        return self._copy_in(source.numpy(), placement, kind, writable), True

    def check(self, value: Any, placement: Placement, tensor: Tensor) -> Array | np.ndarray:
        """The value as an array of its own kind; InputError, RunError where it does not fit."""
        if isinstance(value, Array):
            if value.is_deleted:
                raise RunError(
                    f'input "{tensor.name}": the array {value.placement} was deleted: '
                    "a step was given its memory (donated), or delete() was called"
                )
            if value.dtype != placement.dtype:
                raise InputError(
                    f'input "{tensor.name}": expected {placement.dtype} but got {value.dtype}'
                )
            shape, is_part = value.placement.shape, False
            is_sum = value.shape != shape
            if shape != placement.shape and (is_sum or tensor.is_addends):
                return self.check(value.numpy(), placement, tensor)
        else:
            value = as_array(value, tensor)
            shape, is_part = value.shape, self._is_part(value.shape, placement)
        if shape != placement.shape and not is_part:
            raise InputError(
                f'input "{tensor.name}": expected shape {list(placement.shape)} but got {list(shape)}'
            )
        return value

    def _copy_in(
        self, source: np.ndarray, placement: Placement, kind: Kind, writable: bool
    ) -> Array:
        is_part = source.shape != placement.shape
        array = self.new(placement, kind, shares=placement.is_whole and not writable)
        for rank in self.ranks if array.address[1] else self.ranks[:1]:
            rows = source if is_part else source[placement.slices[rank]]
            part = self._memory_of(array, rank)
            part[placement.extents[rank]] = rows
            self._written(array, rank, part)
        return array

    def _move_in(self, source: Array, placement: Placement, kind: Kind, writable: bool) -> Array:
        """From parts that this process reaches to parts: the whole is made nowhere."""
        given = source.placement
        array = self.new(placement, kind, shares=placement.is_whole and not writable)
        for rank in self.ranks if array.address[1] else self.ranks[:1]:
            part, wanted = self._memory_of(array, rank), placement.slices[rank]
            for other in given.speakers:
                rows = common_rows(wanted, given.slices[other])
                if rows is not None:
                    theirs = source.part(other)[within(rows, given.slices[other])]
                    part[within(rows, wanted)] = theirs
            self._written(array, rank, part)
        return array

    def _is_part(self, shape: tuple[int, ...], placement: Placement) -> bool:
        """Whether a value of this shape has the rows of this process' device alone."""
        return False

    def new(self, placement: Placement, kind: Kind, *, shares: bool) -> Array:
        """An array of anything. shares: all devices have the same memory."""
        parts = 1 if shares else len(self.ranks)
        stride = round_up(placement.local_bytes)
        block = self.memory.allocate(parts * stride)
        return Array(placement, kind, block, (block.begin, stride if parts > 1 else 0))

    def copy(self, array: Array) -> Array:
        """One of its own, to which a step may write."""
        made = self.new(array.placement, array.kind, shares=False)
        for rank in self.ranks:
            part = self._memory_of(made, rank)
            part[...] = array.view(rank, array.placement.local_shape)
            self._written(made, rank, part)
        return made

    def shares_memory(self, array: Array) -> bool:
        """Whether several devices have one piece of memory for it."""
        return len(self.ranks) > 1 and array.address[1] == 0

    def _memory_of(self, array: Array, rank: int) -> np.ndarray:
        """A device's part, to write to."""
        placement = array.placement
        return np.ndarray(
            placement.local_shape, placement.dtype, self.memory.bytes, array.begin(rank)
        )

    def _written(self, array: Array, rank: int, part: np.ndarray) -> None:
        """Is told when what `_memory_of` gave has its contents."""


def assemble(placement: Placement, parts: dict[int, np.ndarray]) -> np.ndarray:
    """The whole array, of the parts of `placement.speakers`."""
    whole = np.empty(placement.shape, placement.dtype)
    for rank, part in parts.items():
        whole[placement.slices[rank]] = part
    whole.flags.writeable = False
    return whole
