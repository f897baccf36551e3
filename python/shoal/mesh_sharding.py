# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shardings of compiled programs' tensors, and the same ones on other programs' meshes."""

from __future__ import annotations

import itertools
import math
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.devices.placement import Placement, Slices
from shoal.digits import Digit, axes_of, stride_of
from shoal.mesh import Axis, Dim, Mesh, Sharding


@dataclass(frozen=True)
class MeshSharding:
    """How a program's input or output is split over its mesh: all of it, nothing left open.

    dims: the axes that split each dimension, major to minor. Complex numbers have one
    dimension more, as in the program.
    is_addends: the first dimension has addends of a sum, one for each device along its axes.
    """

    mesh: Mesh
    dims: tuple[tuple[Axis, ...], ...]
    is_addends: bool = False

    def over(self, meshes: Iterable[Mesh]) -> Sharding | None:
        """The same over the first mesh that can say it; None: none can.

        Over (x=4, y=2) what is split along x is, over (a=2, b=4), split along a and the major
        half of b. Of 3 x 2 devices behind 2 x 3 ones no axis is a part.
        """
        for mesh in meshes:
            dims = [self._axes_over(mesh, axes) for axes in self.dims]
            if None in dims:
                continue
            partial = dims.pop(0) if self.is_addends else ()
            return Sharding(mesh.name, tuple(Dim(axes) for axes in dims), partial=partial)
        return None

    def _axes_over(self, mesh: Mesh, axes: Sequence[Axis]) -> tuple[Axis, ...] | None:
        if (mesh.axes, mesh.device_ids) == (self.mesh.axes, self.mesh.device_ids):
            return tuple(axes)
        if mesh.size != self.mesh.size or mesh.device_ids != self.mesh.device_ids:
            return None
        parts = [axes_of(_digit(axis, self.mesh), mesh) for axis in axes]
        return None if None in parts else tuple(itertools.chain.from_iterable(parts))


def _digit(axis: Axis, mesh: Mesh) -> Digit:
    """The digit of a device's position in the mesh that the axis reads."""
    return Digit(stride_of(axis, mesh), axis.size or mesh.axes[axis.name])


# What is known of placements: of programs' arrays, and of what was put somewhere.
_known: weakref.WeakKeyDictionary[Placement, MeshSharding] = weakref.WeakKeyDictionary()


def remember(placement: Placement, sharding: MeshSharding) -> None:
    """Arrays of this placement are split so."""
    _known[placement] = sharding


def recall(placement: Placement) -> MeshSharding | None:
    """How they are split; None: nobody has said it."""
    return _known.get(placement)


def placement_of(
    sharding: Sharding, mesh: Mesh, shape: Sequence[int], dtype: np.dtype
) -> Placement:
    """That of an array as a program with this mesh would have it."""
    dims = [dim.axes for dim in sharding.dims]
    counts = [math.prod(_digit(axis, mesh).size for axis in axes) for axes in dims]
    local_shape = [-(-size // count) for size, count in zip(shape, counts)]
    position_of = np.argsort(mesh.device_ids or range(mesh.size))
    slices: list[Slices] = []
    for position in position_of:
        begins = [_index(int(position), axes, mesh) * n for axes, n in zip(dims, local_shape)]
        slices.append(
            tuple(
                slice(min(begin, size), min(begin + n, size))
                for begin, n, size in zip(begins, local_shape, shape)
            )
        )
    text = sharding.attribute().removeprefix("#shoal.sharding")
    placement = Placement(shape, local_shape, dtype, text, slices)
    remember(placement, MeshSharding(mesh, tuple(dims)))
    return placement


def _index(position: int, axes: Sequence[Axis], mesh: Mesh) -> int:
    """Of the shard along these axes, major to minor, that a position in the mesh has."""
    index = 0
    for axis in axes:
        digit = _digit(axis, mesh)
        index = index * digit.size + position // digit.stride % digit.size
    return index


def shardings_of(description: Mapping[str, Any], what: str) -> tuple[MeshSharding, ...]:
    """Of the "inputs" or "outputs" in a program's metadata, see shoal/Runtime/ABI.h."""
    meshes = [
        Mesh([(axis["name"], axis["size"]) for axis in entry["axes"]], device_ids=entry["device_ids"])
        for entry in description["meshes"]
    ]
    return tuple(
        MeshSharding(
            meshes[tensor["mesh"]],
            tuple(_axes(dim, meshes[tensor["mesh"]]) for dim in tensor["dims"]),
            tensor.get("addends", False),
        )
        for tensor in description[what]
    )


def _axes(dim: Sequence[Mapping[str, int]], mesh: Mesh) -> tuple[Axis, ...]:
    names = list(mesh.axes)
    return tuple(
        Axis(names[part["axis"]])
        if part["size"] == mesh.axes[names[part["axis"]]]
        else Axis(names[part["axis"]], part["pre"], part["size"])
        for part in dim
    )
