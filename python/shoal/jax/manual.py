# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions that are written for one device: which axes their collectives may name.

StableHLO's collectives list devices in groups. In a manual region over axes of a
mesh, groups become axes where they are what axes make: the devices that differ
along these axes alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.digits import Digit, axes_of, digits_of, stride_of
from shoal.mesh import Axis, Mesh


@dataclass(frozen=True)
class Frame:
    """A region that is manual along `axes` of a mesh, in the mesh's order.

    Those of the regions around it are among them.
    """

    mesh: Mesh
    axes: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether it is manual along all axes."""
        return all(axis in self.axes for axis, size in self.mesh.axes.items() if size > 1)

    def contains(self, axes: Sequence[Axis]) -> bool:
        return all(axis.name in self.axes for axis in axes)

    def axes_of_digit(self, digit: Digit) -> tuple[Axis, ...] | None:
        """The digit of a device's number as manual axes; None where it is not."""
        if self.mesh.device_ids is not None:
            return None
        axes = axes_of(digit, self.mesh)
        return axes if axes is not None and self.contains(axes) else None

    def axes_of_groups(self, groups: np.ndarray, *, ordered: bool) -> tuple[Axis, ...] | None:
        """The axes along which the devices of each group differ, or None.

        groups: (number of groups, devices in one). Where the order within a
        group counts it is the axes', major to minor.
        """
        groups = np.asarray(groups, np.int64)
        if groups.shape[1] == 1:
            return ()
        if self._is_no_partition(groups):
            return None
        groups = self._positions()[groups]
        groups = groups if ordered else np.sort(groups, axis=1)
        groups = groups[np.argsort(groups[:, 0])]
        dims = digits_of(groups)
        if dims is None:
            return None
        parts = [axes_of(digit, self.mesh) for digit in dims[1]]
        if any(part is None for part in parts):
            return None
        axes = tuple(itertools.chain(*parts))
        return axes if self.contains(axes) else None

    def size(self, axes: Sequence[Axis]) -> int:
        return math.prod(axis.size or self.mesh.axes[axis.name] for axis in axes)

    def index(self, axes: Sequence[Axis], device: int) -> int:
        """A device's index along axes."""
        position, index = int(self._positions()[device]), 0
        for axis in axes:
            size = self.size([axis])
            index = index * size + position // stride_of(axis, self.mesh) % size
        return index

    def permutation(
        self, pairs: Mapping[int, int]
    ) -> tuple[tuple[Axis, ...], dict[int, int]] | None:
        """Axes, and which index along them sends to which, the same for all devices.

        pairs: the target of each device that sends. None where devices that
        differ on other axes alone do not do alike.
        """
        names = [name for name in self.axes if self.mesh.axes[name] > 1]
        for count in range(1, len(names) + 1):
            for chosen in itertools.combinations(names, count):
                axes = tuple(map(Axis, chosen))
                moves = self._moves(axes, pairs)
                if moves is not None:
                    return axes, moves
        return None

    def _moves(self, axes: Sequence[Axis], pairs: Mapping[int, int]) -> dict[int, int] | None:
        moves: dict[int, int] = {}
        for source, target in pairs.items():
            if self._elsewhere(axes, source) != self._elsewhere(axes, target):
                return None
            index = self.index(axes, target)
            if moves.setdefault(self.index(axes, source), index) != index:
                return None
        is_uniform = len(pairs) * self.size(axes) == len(moves) * self.mesh.size
        return moves if is_uniform else None

    def _elsewhere(self, axes: Sequence[Axis], device: int) -> int:
        named = {axis.name for axis in axes}
        return self.index([Axis(name) for name in self.mesh.axes if name not in named], device)

    def _positions(self) -> np.ndarray:
        ids = self.mesh.device_ids
        return np.arange(self.mesh.size) if ids is None else np.argsort(ids)

    def _is_no_partition(self, groups: np.ndarray) -> bool:
        return not np.array_equal(np.sort(groups, axis=None), np.arange(self.mesh.size))


@dataclass(frozen=True)
class Shift:
    """Along `axes`, index i sends to i + distance, modulo their size."""

    axes: tuple[Axis, ...]
    distance: int


def shift_of(frame: Frame, axes: tuple[Axis, ...], moves: Mapping[int, int]) -> Shift | None:
    """The shift that makes all indices' moves where there is one.

    A butterfly, 0 <-> 1 and 2 <-> 3, is a shift along the minor half of the axis.
    """
    if len(moves) < frame.size(axes):
        return None
    for part in (axes, *_parts(frame, axes)):
        distances = {_distance(frame, axes, part, move) for move in moves.items()}
        if len(distances) == 1 and None not in distances:
            return Shift(part, distances.pop())
    return None


def _parts(frame: Frame, axes: tuple[Axis, ...]) -> Iterator[tuple[Axis, ...]]:
    if len(axes) != 1:
        return
    size = frame.size(axes)
    divisors = [k for k in range(1, size + 1) if size % k == 0]
    for pre, part in itertools.product(divisors, divisors):
        if 1 < part < size and size % (pre * part) == 0:
            yield (Axis(axes[0].name, pre, part),)


def _distance(frame: Frame, axes, part, move: tuple[int, int]) -> int | None:
    """How far a move goes along a part of the axes; None where it leaves that."""
    source, target = move
    if part == axes:
        return (target - source) % frame.size(axes)
    below = frame.size(axes) // (part[0].pre * part[0].size)
    size = part[0].size
    steps = (target // below - source // below) % size
    moved = source + ((source // below + steps) % size - source // below % size) * below
    return steps if moved == target else None
