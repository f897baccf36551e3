# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shardy's attributes as plain values: jaxlib's `sdy` dialect in, `shoal.mesh` out."""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from shoal.jax.refusals import Unsupported
from shoal.mesh import Axis, Dim, Mesh


def mesh_of(attribute: ir.Attribute, name: str) -> Mesh | None:
    """The mesh of an `#sdy.mesh`; None for one without axes (of one device)."""
    mesh = sdy.MeshAttr(attribute)
    axes = [sdy.MeshAxisAttr(axis) for axis in mesh.axes]
    if not axes:
        return None
    ids = list(mesh.device_ids)
    return Mesh([(axis.name, axis.size) for axis in axes], name=name, device_ids=ids or None)


def axis_of(attribute: ir.Attribute) -> Axis:
    """An `#sdy.axis_ref`."""
    axis = sdy.AxisRefAttr(attribute)
    if axis.sub_axis_info is None:
        return Axis(axis.name)
    part = sdy.SubAxisInfoAttr(axis.sub_axis_info)
    return Axis(axis.name, part.pre_size, part.size)


def dim_of(attribute: ir.Attribute) -> Dim:
    """An `#sdy.dimension_sharding`."""
    dim = sdy.DimensionShardingAttr(attribute)
    axes = tuple(map(axis_of, dim.axes))
    return Dim(axes, not dim.is_closed, dim.priority or 0)


def dims_of(sharding: sdy.TensorShardingAttr) -> tuple[Dim, ...]:
    return tuple(map(dim_of, sharding.dimension_shardings))


def replicated_of(sharding: sdy.TensorShardingAttr) -> tuple[Axis, ...]:
    return tuple(map(axis_of, sharding.replicated_axes))


def unreduced_of(sharding: sdy.TensorShardingAttr) -> tuple[Axis, ...]:
    """The axes along which devices hold addends."""
    return tuple(map(axis_of, sharding.unreduced_axes))


def per_value(attribute: ir.Attribute) -> list[sdy.TensorShardingAttr]:
    """The shardings of an `#sdy.sharding_per_value`, or the one of an `#sdy.sharding`."""
    if sdy.TensorShardingAttr.isinstance(attribute):
        return [sdy.TensorShardingAttr(attribute)]
    if not sdy.TensorShardingPerValueAttr.isinstance(attribute):
        raise Unsupported(f"{attribute} is no sharding")
    return [sdy.TensorShardingAttr(a) for a in sdy.TensorShardingPerValueAttr(attribute).shardings]


def manual_axes_of(attribute: ir.Attribute) -> list[str]:
    """The names in an `#sdy<manual_axes{...}>`."""
    return [str(name) for name in sdy.ManualAxesAttr(attribute)]
