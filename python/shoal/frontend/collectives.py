# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Collectives, in parts of a program that are written for one device."""

from __future__ import annotations

import math
from collections.abc import Iterable

from shoal import ir
from shoal.enums import kind_attribute
from shoal.frontend import dtypes
from shoal.frontend.annotations import AxisNames, axes_attribute, check_axes, mesh_of
from shoal.frontend.checks import as_axis, as_int, check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, current, emit_one
from shoal.frontend.reduction import check_reducible
from shoal.frontend.value import Value

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "axis_index", "permute", "ragged_all_to_all",
    "reduce_scatter", "ring_shift",
]  # fmt: skip


def _group(axes: AxisNames, what: str) -> tuple[tuple[str, ...], dict[str, str], int]:
    """The axes, the attribute that names their mesh, and how many devices are along them."""
    trace, mesh = current(what), mesh_of(what)
    listed = check_axes(axes, mesh, what)
    for axis in listed:
        check(
            axis in trace.manual_axes,
            f'{what}: axis "{axis}" is not one of a shoal.manual around it',
        )
    return listed, {"mesh": f"@{mesh.name}"}, math.prod(mesh.axes[axis] for axis in listed)


def _per_dim(axes: tuple[str, ...], dim: int, rank: int) -> str:
    return f"[{', '.join(axes_attribute(axes if d == dim else ()) for d in range(rank))}]"


def all_reduce(x: ArrayLike, axes: AxisNames, kind: str = "sum") -> Value:
    """The reduction (sum, prod, max, min, and, or) over the devices along the axes, on each."""
    value = as_value(x)
    check_reducible(kind, value, "all_reduce")
    listed, attributes, _ = _group(axes, "all_reduce")
    attributes |= {"kind": kind_attribute(kind), "axes": axes_attribute(listed)}
    return emit_one("spmd.all_reduce", [value], value.shape, value.dtype, attributes)


def all_gather(x: ArrayLike, axes: AxisNames, dim: int = 0) -> Value:
    """The devices' values one behind the other along a dimension, on each."""
    value = as_value(x)
    listed, attributes, count = _group(axes, "all_gather")
    place = as_axis(dim, value.ndim, "all_gather")
    shape = [size * count if d == place else size for d, size in enumerate(value.shape)]
    attributes |= {"axes": _per_dim(listed, place, value.ndim)}
    return emit_one("spmd.all_gather", [value], shape, value.dtype, attributes)


def reduce_scatter(x: ArrayLike, axes: AxisNames, dim: int = 0, kind: str = "sum") -> Value:
    """The reduction over the devices; each keeps its own part of a dimension."""
    value = as_value(x)
    check_reducible(kind, value, "reduce_scatter")
    listed, attributes, count = _group(axes, "reduce_scatter")
    place = as_axis(dim, value.ndim, "reduce_scatter")
    _check_divides(value, place, count, "reduce_scatter")
    shape = [size // count if d == place else size for d, size in enumerate(value.shape)]
    attributes |= {"kind": kind_attribute(kind), "axes": _per_dim(listed, place, value.ndim)}
    return emit_one("spmd.reduce_scatter", [value], shape, value.dtype, attributes)


def all_to_all(x: ArrayLike, axes: AxisNames, source: int, target: int) -> Value:
    """Each device sends part i of dimension `target` to device i.

    What it receives stands one behind the other along dimension `source`: a
    split of `source` over the devices becomes a split of `target`.
    """
    value = as_value(x)
    listed, attributes, count = _group(axes, "all_to_all")
    grows, shrinks = (as_axis(dim, value.ndim, "all_to_all") for dim in (source, target))
    check(grows != shrinks, f"all_to_all: from dimension {grows} to itself")
    _check_divides(value, shrinks, count, "all_to_all")
    shape = list(value.shape)
    shape[grows] *= count
    shape[shrinks] //= count
    names = ", ".join(map(ir.quoted, listed))
    attributes |= {"moves": f"[#spmd<move {{{names}}} : {grows} -> {shrinks}>]"}
    return emit_one("spmd.all_to_all", [value], shape, value.dtype, attributes)


def ragged_all_to_all(
    x: ArrayLike,
    output: ArrayLike,
    input_offsets: ArrayLike,
    send_sizes: ArrayLike,
    output_offsets: ArrayLike,
    recv_sizes: ArrayLike,
    axes: AxisNames,
    mean_rows: int | None = None,
) -> Value:
    """`output` with the rows that all devices send here, as `jax.lax.ragged_all_to_all` has it.

    x [N, ...] and output [R, ...]: rows. Offsets and sizes, int32 or int64 [k p], have k entries
    for each of the p devices along the axes: the `send_sizes` rows from `input_offsets` on of x
    get to the rows from `output_offsets` on of that device's output; `recv_sizes` rows come.
    mean_rows: how many rows a device gets on average, for prices alone; N or R, whichever is less, where it is not said.
    A program in which a slice leaves its array, sizes of the two sides differ or rows are sent
    twice ends with an error that names the device and the entry.
    """
    rows, into = as_value(x), as_value(output)
    what = "ragged_all_to_all"
    lists = [as_value(v) for v in (input_offsets, send_sizes, output_offsets, recv_sizes)]
    listed, attributes, count = _group(axes, what)
    check(
        rows.ndim > 0 and into.shape[1:] == rows.shape[1:] and into.ndim == rows.ndim,
        f"{what}: rows of {list(rows.shape)} do not go to rows of {list(into.shape)}",
    )
    check(into.dtype == rows.dtype, f"{what}: rows of {rows.dtype} go to rows of {into.dtype}")
    first = lists[0]
    check(
        all(v.shape == first.shape and v.dtype == first.dtype for v in lists),
        f"{what}: offsets and sizes are {', '.join(f'{v.dtype}{list(v.shape)}' for v in lists)}",
    )
    check(
        first.ndim == 1 and first.shape[0] > 0 and first.shape[0] % count == 0,
        f"{what}: {list(first.shape)} offsets and sizes are not the same number for each of"
        f" {count} devices",
    )
    check(
        first.dtype in (dtypes.INT32, dtypes.INT64),
        f"{what}: offsets and sizes are int32 or int64 but not {first.dtype}",
    )
    attributes |= {"axes": axes_attribute(listed)}
    if mean_rows is not None:
        most = min(rows.shape[0], into.shape[0])
        check(0 <= mean_rows <= most, f"{what}: mean_rows {mean_rows}: expected 0 to {most}, the rows of the smaller array")
        attributes |= {"mean_rows": f"{mean_rows} : i64"}
    return emit_one("spmd.ragged_all_to_all", [rows, into, *lists], into.shape, into.dtype, attributes)


def ring_shift(x: ArrayLike, axes: AxisNames, by: int = 1) -> Value:
    """The value of the device `by` places before this one along the axes, around the end."""
    value = as_value(x)
    listed, attributes, count = _group(axes, "ring_shift")
    shift = as_int(by, "ring_shift: by") % count
    return _permuted(value, listed, attributes | {"shift": f"{shift} : i64"})


def permute(x: ArrayLike, axes: AxisNames, pairs: Iterable[tuple[int, int]]) -> Value:
    """The value of the device that sends to this one; zeros where none does.

    pairs: (source, target), places along the axes, read from major to minor.
    Each is at most once a source and at most once a target, and a device sends
    at most one message.
    """
    value = as_value(x)
    listed, attributes, count = _group(axes, "permute")
    numbers = [[as_int(place, "permute: pairs") for place in pair] for pair in pairs]
    for pair in numbers:
        check(len(pair) == 2, f"permute: {tuple(pair)} is no pair of a source and a target")
    for kind, places in zip(("source", "target"), zip(*numbers)):
        for i, place in enumerate(places):
            check(0 <= place < count, f"permute: {kind} {place} is none of {count} devices")
            check(place not in places[:i], f"permute: device {place} is a {kind} twice")
    indices = ir.i64s([place for pair in numbers for place in pair])
    return _permuted(value, listed, attributes | {"pairs": indices})


def _permuted(value: Value, axes: tuple[str, ...], attributes: dict[str, str]) -> Value:
    names = axes_attribute(axes)
    attributes |= {"source_axes": names, "target_mesh": attributes["mesh"], "target_axes": names}
    return emit_one("spmd.collective_permute", [value], value.shape, value.dtype, attributes)


def axis_index(axes: AxisNames) -> Value:
    """The device's place along the axes, read from major to minor as one int32."""
    listed, attributes, _ = _group(axes, "axis_index")
    attributes |= {"axes": axes_attribute(listed)}
    return emit_one("spmd.axis_index", [], (), dtypes.INT32, attributes)


def _check_divides(value: Value, dim: int, count: int, what: str) -> None:
    check(
        value.shape[dim] % count == 0,
        f"{what}: dimension {dim} of size {value.shape[dim]} is not divisible by {count} devices",
    )
