# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the shards of an array lie."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from functools import cached_property

import numpy as np

Slices = tuple[slice, ...]


def common_rows(first: Slices, second: Slices) -> Slices | None:
    """The rows that two parts of an array have both; None where there are none."""
    common = tuple(
        slice(max(one.start, other.start), min(one.stop, other.stop))
        for one, other in zip(first, second)
    )
    return None if any(dim.start >= dim.stop for dim in common) else common


def within(rows: Slices, part: Slices) -> Slices:
    """Rows of an array as those of a part of it that has them."""
    return tuple(
        slice(dim.start - base.start, dim.stop - base.start) for dim, base in zip(rows, part)
    )


class Placement:
    """Where an array's shards lie: which rows of it are on which device, and how they lie there.

    shape: of the whole; local_shape: of what each device has memory for.
    sharding: as the compiler prints it, "" where all devices have the whole.
    slices: of each device, its part of the whole. Where an uneven dimension ends
    a device has fewer rows than in local_shape, or none.

    There is one object for equal ones. Programs may say the same in different words:
    arrays fit where `bare` is the same.
    """

    _all: weakref.WeakValueDictionary[object, Placement] = weakref.WeakValueDictionary()

    shape: tuple[int, ...]
    local_shape: tuple[int, ...]
    dtype: np.dtype
    sharding: str
    slices: tuple[Slices, ...]
    _bare: Placement | None

    def __new__(
        cls,
        shape: Sequence[int],
        local_shape: Sequence[int],
        dtype: np.dtype,
        sharding: str,
        slices: Sequence[Slices],
    ) -> Placement:
        shape, local_shape, dtype = tuple(shape), tuple(local_shape), np.dtype(dtype)
        bounds = tuple(tuple((part.start, part.stop) for part in device) for device in slices)
        key = (shape, local_shape, dtype, sharding, bounds)
        placement = cls._all.get(key)
        if placement is None:
            placement = super().__new__(cls)
            placement.shape, placement.local_shape, placement.dtype = shape, local_shape, dtype
            placement.sharding, placement.slices = sharding, tuple(slices)
            placement._bare = cls(shape, local_shape, dtype, "", slices) if sharding else None
            # Another thread may have been faster.
            placement = cls._all.setdefault(key, placement)
        return placement

    @property
    def bare(self) -> Placement:
        """The same without the compiler's words."""
        return self._bare or self

    @property
    def count(self) -> int:
        """How many devices there are."""
        return len(self.slices)

    @cached_property
    def local_bytes(self) -> int:
        """Of what each device has memory for."""
        return math.prod(self.local_shape) * self.dtype.itemsize

    @cached_property
    def is_whole(self) -> bool:
        """Whether each device has all of it."""
        whole = [(0, size) for size in self.shape]
        return all([(dim.start, dim.stop) for dim in part] == whole for part in self.slices)

    @cached_property
    def is_stacked(self) -> bool:
        """Whether the devices' parts, one behind the other, are the whole array."""
        if self.is_whole:
            return self.count == 1
        if self.local_shape[1:] != self.shape[1:]:
            return False
        rows = self.local_shape[0]
        return rows * self.count == self.shape[0] and all(
            part[0].start == device * rows for device, part in enumerate(self.slices)
        )

    @cached_property
    def speakers(self) -> tuple[int, ...]:
        """Devices that together have every row once."""
        first: dict[object, int] = {}
        for device, part in enumerate(self.slices):
            first.setdefault(tuple((dim.start, dim.stop) for dim in part), device)
        return tuple(first.values())

    @cached_property
    def extents(self) -> tuple[Slices, ...]:
        """Of each device, the rows of its memory that exist."""
        return tuple(
            tuple(slice(0, part.stop - part.start) for part in device) for device in self.slices
        )

    def __str__(self) -> str:
        sharding = f" {self.sharding}" if self.sharding else ""
        return f"{self.dtype}{list(self.shape)}{sharding}"

    def __repr__(self) -> str:
        return f"<Placement {self} on {self.count} devices>"
