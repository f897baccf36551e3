# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of devices as axes of a mesh.

GSPMD lists which device holds which tile; Shoal names mesh axes. A device's
position in a mesh is a number, row-major over the axes, and an axis is a digit
of it. An array of devices is a tiling by axes where each of its dimensions
reads some digits of the device's number; where it is not, a mesh with another
order of devices makes it one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.mesh import Axis, Mesh

# Orders of more axes than these are not searched.
_MOST_ORDERED = 6


@dataclass(frozen=True)
class Digit:
    """A digit of the numbers below `devices`: number // stride % size."""

    stride: int
    size: int


def digits_of(devices: np.ndarray) -> list[list[Digit]] | None:
    """The digits that each dimension reads, major to minor, or None if it does not.

    devices: a permutation of 0 ... n - 1 of any shape. `[[0, 2], [1, 3]]` reads
    the digit of stride 1 along dimension 0 and that of stride 2 along 1.
    """
    dims = [_digits_along(devices, dim) for dim in range(devices.ndim)]
    if any(dim is None for dim in dims):
        return None
    rebuilt = np.zeros(devices.shape, np.int64)
    for dim, digits in enumerate(dims):
        column = [-1 if i == dim else 1 for i in range(devices.ndim)]
        rebuilt = rebuilt + _numbers(digits).reshape(column)
    return dims if np.array_equal(rebuilt, devices) else None


def _digits_along(devices: np.ndarray, dim: int) -> list[Digit] | None:
    first = [0] * devices.ndim
    first[dim] = slice(None)
    numbers = devices[tuple(first)]
    if numbers[0] != 0:
        return None
    digits: list[Digit] = []
    done = 1
    while done < len(numbers):
        stride = int(numbers[done])
        size = _run_length(numbers[::done], stride)
        if stride < 1 or size < 2 or devices.size % (stride * size):
            return None
        digits.insert(0, Digit(stride, size))
        done *= size
    return digits


def _run_length(numbers: np.ndarray, stride: int) -> int:
    """The largest divisor k of the length with numbers[i] = i * stride below k."""
    count = len(numbers)
    good = int(np.argmin(np.append(numbers == np.arange(count) * stride, False)))
    return max(k for k in range(1, good + 1) if count % k == 0)


def _numbers(digits: Sequence[Digit]) -> np.ndarray:
    numbers = np.zeros(1, np.int64)
    for digit in digits:
        numbers = (numbers[:, None] + np.arange(digit.size) * digit.stride).reshape(-1)
    return numbers


def axes_of(digit: Digit, mesh: Mesh) -> tuple[Axis, ...] | None:
    """A digit as (sub-)axes of a mesh, major to minor; None where it cuts across one."""
    low, high = digit.stride, digit.stride * digit.size
    parts: list[Axis] = []
    stride = mesh.size
    for name, size in mesh.axes.items():
        end, stride = stride, stride // size
        begin, stop = max(low, stride), min(high, end)
        if begin >= stop:
            continue
        if any(a % b for a, b in ((begin, stride), (end, stop), (stop, begin))):
            return None
        part = stop // begin
        parts.append(Axis(name) if part == size else Axis(name, end // stop, part))
    return tuple(parts) if math.prod(_size(a, mesh) for a in parts) == digit.size else None


def _size(axis: Axis, mesh: Mesh) -> int:
    return axis.size or mesh.axes[axis.name]


def common_sizes(devices: int, digits: Iterable[Digit]) -> list[int]:
    """Sizes of axes, major to minor, that name as many of the digits as possible.

    Digits whose bounds do not divide each other, such as 2 within 3 x 2, cannot
    have axes in common: the first ones win.
    """
    bounds = [1, devices]
    for digit in digits:
        for bound in (digit.stride, digit.stride * digit.size):
            if bound not in bounds and all(bound % b == 0 or b % bound == 0 for b in bounds):
                bounds.append(bound)
    bounds.sort(reverse=True)
    return [high // low for high, low in zip(bounds, bounds[1:])] or [1]


def aligned(mesh: Mesh, others: Iterable[Mesh]) -> Mesh:
    """The mesh, with its axes in an order in which they cut devices as the others do.

    3 x 2 and 2 x 3 devices have no parts of axes in common. Listed as 3 x 2, with the order of
    devices that puts each where it was, the second has. A mesh for which no order is found
    stays.
    """
    bounds = [bound for other in others if other.size == mesh.size for bound in _bounds(other)]

    def fits(axes: Sequence[str]) -> bool:
        own = _bounds(Mesh([(name, mesh.axes[name]) for name in axes]))
        return all(a % b == 0 or b % a == 0 for a in own for b in bounds)

    names = list(mesh.axes)
    if len(names) > _MOST_ORDERED or fits(names):
        return mesh
    order = next(filter(fits, itertools.permutations(names)), None)
    if order is None:
        return mesh
    ids = np.arange(mesh.size) if mesh.device_ids is None else np.array(mesh.device_ids)
    table = ids.reshape(list(mesh.axes.values())).transpose([names.index(name) for name in order])
    axes = [(name, mesh.axes[name]) for name in order]
    return Mesh(axes, name=mesh.name, device_ids=[int(i) for i in table.ravel()])


def _bounds(mesh: Mesh) -> list[int]:
    """The strides of the axes: where the digits of a position begin."""
    return [stride_of(Axis(name), mesh) for name in mesh.axes]


def order_by_axes(
    devices: np.ndarray, mesh: Mesh
) -> tuple[list[tuple[Axis, ...]], tuple[int, ...]]:
    """Axes for each dimension and the `device_ids` with which they tile as listed.

    For arrays that no axes of the mesh tile in its own order. Each dimension
    takes prime parts of axes until it has its size, so that there always are some.
    """
    free = [part for name, size in mesh.axes.items() for part in _prime_parts(name, size)]
    dims: list[tuple[Axis, ...]] = []
    for size in devices.shape:
        taken: list[Axis] = []
        for part in list(free):
            if size % part.size == 0:
                taken.append(part)
                free.remove(part)
                size //= part.size
        dims.append(tuple(taken))
    ids = np.empty(devices.size, np.int64)
    for index, device in np.ndenumerate(devices):
        ids[sum(_offset(axes, i, mesh) for axes, i in zip(dims, index))] = device
    return [_joined(axes, mesh) for axes in dims], tuple(map(int, ids))


def _prime_parts(name: str, size: int) -> list[Axis]:
    parts, pre = [], 1
    while pre < size:
        rest = size // pre
        prime = next(k for k in range(2, rest + 1) if rest % k == 0)
        parts.append(Axis(name, pre, prime))
        pre *= prime
    return parts


def _offset(axes: Sequence[Axis], index: int, mesh: Mesh) -> int:
    """What the index along these axes adds to the position in the mesh."""
    offset = 0
    for axis in reversed(axes):
        offset += index % axis.size * stride_of(axis, mesh)
        index //= axis.size
    return offset


def stride_of(axis: Axis, mesh: Mesh) -> int:
    """By how much the position grows when the index along the axis grows by one."""
    names = list(mesh.axes)
    behind = math.prod(mesh.axes[name] for name in names[names.index(axis.name) + 1 :])
    whole = mesh.axes[axis.name]
    return behind * (whole // (axis.pre * axis.size) if axis.size else 1)


def _joined(axes: Sequence[Axis], mesh: Mesh) -> tuple[Axis, ...]:
    """Neighbours of one axis as one sub-axis, or as the axis."""
    joined: list[Axis] = []
    for axis in axes:
        last = joined[-1] if joined else None
        if last and last.name == axis.name and last.pre * last.size == axis.pre:
            joined[-1] = Axis(axis.name, last.pre, last.size * axis.size)
        else:
            joined.append(axis)
    return tuple(Axis(a.name) if a.size == mesh.axes[a.name] else a for a in joined)
