# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where values lie: GShard's split, replicate and shard, and shardings by axis names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias, Union

import numpy as np

from shoal import ir
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend.checks import as_axis, as_int, check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, current, emit_one
from shoal.frontend.value import Value
from shoal.mesh import Axis, Dim, Mesh, Sharding

__all__ = ["P", "constrain", "replicate", "shard", "split"]

OPEN = "?"
AxisNames = str | Sequence[str]


class P:
    """How each dimension is split, by axes of the mesh: P("data", None, ("expert", "model")).

    An entry is None (whole), an axis, or several from major to minor. An axis
    is a name or an Axis, a part of one. "?" alone or behind axes leaves it to
    the compiler to add more. A Dim says all that, and a priority. Dimensions
    without an entry are whole, behind a last `...` left to the compiler. `replicated` axes stay so
    where dimensions are open. Devices along `partial` axes hold addends of the value, which nobody has
    summed yet, as with `unreduced` of JAX's PartitionSpec.
    """

    def __init__(self, *dims: Any, replicated: Sequence[str | Axis] = (), partial: Sequence[str | Axis] = ()):
        self.dims = dims
        self.replicated = tuple(replicated)
        self.partial = tuple(partial)

    def __repr__(self) -> str:
        lists = {"replicated": self.replicated, "partial": self.partial}
        extra = [f"{name}={axes}" for name, axes in lists.items() if axes]
        return f"P({', '.join([*map(repr, self.dims), *extra])})"


Spec: TypeAlias = Union[P, Sharding, Sequence[Any], None]


def is_jax_spec(spec: Any) -> bool:
    """Whether it is a PartitionSpec of JAX's, which need not be there."""
    sharding = sys.modules.get("jax.sharding")
    return sharding is not None and isinstance(spec, sharding.PartitionSpec)


def as_ours(spec: Any, what: str) -> Any:
    """Ours for a PartitionSpec of JAX's: what is unconstrained there is open. Others as they are."""
    if not is_jax_spec(spec):
        return spec
    sums = {*getattr(spec, "unreduced", ()), *getattr(spec, "reduced", ())}
    check(not sums, f"{what}: {spec!r}: arrays are no sums over axes")
    return P(*(OPEN if entry is type(spec).UNCONSTRAINED else entry for entry in spec))


def as_sharding(spec: Spec, shape: Sequence[int], mesh: Mesh | None, what: str) -> Sharding:
    """The sharding of a tensor of this shape; TraceError where it is none of this mesh."""
    if mesh is None:
        raise TraceError(f"{what}: the program has no mesh; give shoal.trace or shoal.compile one")
    if isinstance(spec, Sharding):
        return spec
    spec = as_ours(spec, what)
    spec = spec if isinstance(spec, P) else P(*_entries(spec, what))
    rest: Any = None
    if spec.dims and spec.dims[-1] is Ellipsis:
        spec, rest = P(*spec.dims[:-1], replicated=spec.replicated, partial=spec.partial), OPEN
    check(
        len(spec.dims) <= len(shape),
        f"{what}: {spec!r} has {len(spec.dims)} entries, {list(shape)} has {len(shape)} dimensions",
    )
    dims = [_dim(entry, what) for entry in spec.dims]
    dims += [_dim(rest, what)] * (len(shape) - len(dims))
    replicated = tuple(_axis(axis, what) for axis in spec.replicated)
    partial = tuple(_axis(axis, what) for axis in spec.partial)
    used: list[Axis] = [axis for dim in dims for axis in dim.axes] + [*replicated, *partial]
    for i, axis in enumerate(used):
        check(axis.name in mesh.axes, f'{what}: axis "{axis.name}" is not one of {mesh!r}')
        check(axis not in used[:i], f"{what}: axis {axis} is used twice in {spec!r}")
    return Sharding(mesh.name, tuple(dims), replicated, partial)


def _entries(spec: Any, what: str) -> Sequence[Any]:
    if isinstance(spec, (tuple, list)):
        return spec
    raise TraceTypeError(f"{what}: expected shoal.P(...) or a tuple of axes, got {spec!r}")


def _dim(entry: Any, what: str) -> Dim:
    if isinstance(entry, Dim):
        return entry
    if entry is None:
        return Dim()
    listed = list(entry) if isinstance(entry, (tuple, list)) else [entry]
    is_open = bool(listed) and listed[-1] == OPEN
    axes = listed[:-1] if is_open else listed
    return Dim(tuple(_axis(axis, what) for axis in axes), is_open)


def _axis(axis: Any, what: str) -> Axis:
    if isinstance(axis, Axis):
        return axis
    if not isinstance(axis, str):
        raise TraceTypeError(f"{what}: expected an axis's name, got {axis!r}")
    check(axis != OPEN, f'{what}: "?" stands behind the axes of a dimension')
    return Axis(axis)


def mesh_of(what: str) -> Mesh:
    mesh = current(what).mesh
    if mesh is None:
        raise TraceError(f"{what}: the program has no mesh; give shoal.trace or shoal.compile one")
    return mesh


def check_axes(axes: AxisNames, mesh: Mesh, what: str) -> tuple[str, ...]:
    """Names of axes of the mesh, each once; TraceError for others."""
    listed = (axes,) if isinstance(axes, str) else tuple(axes)
    for i, axis in enumerate(listed):
        check(axis in mesh.axes, f'{what}: axis "{axis}" is not one of {mesh!r}')
        check(axis not in listed[:i], f'{what}: axis "{axis}" occurs twice')
    return listed


def axes_attribute(axes: Sequence[str]) -> str:
    """As ops name axes."""
    return f"#shoal<axes{{{', '.join(map(ir.quoted, axes))}}}>"


def split(operand: ArrayLike, dim: int, num_partitions: int) -> Value:
    """GShard's split: the dimension in equal parts, part i on device i.

    The identity on elements. With fewer parts than devices, part i is on all
    devices of number i modulo `num_partitions`, which divides their number.
    """
    mesh, value = mesh_of("split"), as_value(operand)
    axis, parts = as_axis(dim, value.ndim, "split"), as_int(num_partitions, "split: num_partitions")
    check(
        parts >= 1 and mesh.size % parts == 0,
        f"split: {parts} partitions do not divide the {mesh.size} devices of {mesh!r}",
    )
    attributes = {"dim": f"{axis} : i64", "num_partitions": f"{parts} : i64"}
    return emit_one("shoal.split", [value], value.shape, value.dtype, attributes)


def replicate(operand: ArrayLike) -> Value:
    """GShard's replicate: every device holds the whole tensor. The identity on elements."""
    mesh_of("replicate")
    value = as_value(operand)
    return emit_one("shoal.replicate", [value], value.shape, value.dtype)


def shard(operand: ArrayLike, device_assignment: Any) -> Value:
    """GShard's shard: an integer array of all devices, in any order, tiles the tensor.

    The array has the tensor's rank; with one dimension more, the devices along
    the last one hold the same tile. The identity on elements.
    """
    mesh, value, devices = mesh_of("shard"), as_value(operand), np.asarray(device_assignment)
    if devices.dtype.kind not in "iu":
        raise TraceTypeError(f"shard: expected an array of device numbers, got {devices.dtype}")
    check(
        devices.ndim in (value.ndim, value.ndim + 1),
        f"shard: {devices.ndim} dimensions of devices for {value.ndim} of the tensor",
    )
    check(
        sorted(devices.flat) == list(range(mesh.size)),
        f"shard: expected each device of 0 ... {mesh.size - 1} once, got {sorted(devices.flat)}",
    )
    type = f"tensor<{''.join(f'{size}x' for size in devices.shape)}i64>"
    attributes = {"device_assignment": f"dense<{devices.tolist()}> : {type}"}
    return emit_one("shoal.shard", [value], value.shape, value.dtype, attributes)


def constrain(operand: ArrayLike, spec: Spec, *, hint: bool = False) -> Value:
    """The value with this sharding, P("data", None) or ("data", None). The identity on elements.

    hint: it only asks; where another sharding is cheaper, that is chosen.
    """
    value = as_value(operand)
    sharding = as_sharding(spec, value.shape, mesh_of("constrain"), "constrain")
    attributes: dict[str, str | None] = {"sharding": sharding.attribute()}
    if hint:
        attributes["hint"] = None
    return emit_one("shoal.sharding_constraint", [value], value.shape, value.dtype, attributes)
