# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where tensors of compiled programs lie, and the same places on other programs' meshes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.digits import Digit, axes_of, stride_of
from shoal.mesh import Axis, Dim, Mesh, Sharding


@dataclass(frozen=True)
class Place:
    """How a program's input or output lies over its mesh: all of it, nothing left open.

    dims: the axes that split each dimension, major to minor. Complex numbers have one
    dimension more, as in the program.
    """

    mesh: Mesh
    dims: tuple[tuple[Axis, ...], ...]

    def over(self, meshes: Iterable[Mesh]) -> Sharding | None:
        """The same place as a sharding over the first mesh that can say it; None: none can.

        Over (x=4, y=2) what is split along x is, over (a=2, b=4), split along a and the major
        half of b. Of 3 x 2 devices behind 2 x 3 ones no axis is a part.
        """
        for mesh in meshes:
            dims = [self._axes_over(mesh, axes) for axes in self.dims]
            if None not in dims:
                return Sharding(mesh.name, tuple(Dim(axes) for axes in dims))
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


def places_of(description: Mapping[str, Any], what: str) -> tuple[Place, ...]:
    """Of the "inputs" or "outputs" in a program's metadata, see shoal/Runtime/ABI.h."""
    meshes = [
        Mesh([(axis["name"], axis["size"]) for axis in entry["axes"]], device_ids=entry["device_ids"])
        for entry in description["meshes"]
    ]
    return tuple(
        Place(
            meshes[tensor["mesh"]],
            tuple(_axes(dim, meshes[tensor["mesh"]]) for dim in tensor["dims"]),
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
