# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a program that are written for one device, and its collectives."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from shoal import ir
from shoal.enums import kind_attribute
from shoal.frontend import dtypes, pytrees
from shoal.frontend.annotations import as_sharding, mesh_of
from shoal.frontend.checks import as_axis, as_int, check
from shoal.frontend.constants import as_value
from shoal.frontend.core import ArrayLike, Trace, Type, current, emit, emit_one, region
from shoal.frontend.reductions import check_reducible
from shoal.mesh import Mesh, Sharding

if TYPE_CHECKING:
    from shoal.frontend.value import Value

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "axis_index", "manual", "reduce_scatter", "ring_shift",
]  # fmt: skip

Axes = str | Sequence[str]


def manual(
    function: Callable[..., Any],
    in_shardings: Any,
    out_shardings: Any,
    axes: Axes | None = None,
) -> Callable[..., Any]:
    """The function as it runs on one device along `axes`, for None all that are not manual yet.

    What this returns takes whole values. `function` gets their shards over
    these axes, as in_shardings says (a P for each, or for whole subtrees), and
    its results are the shards of the whole results, as out_shardings says. In
    it there are all_reduce, all_gather, reduce_scatter, all_to_all, ring_shift
    and axis_index over these axes. It cannot use values from outside. A result
    whose sharding names not all the axes must be the same along the others.

    One in another splits the shards of that one, along axes of its own;
    collectives in it go over the axes of both. Of n rows over p devices each
    has ceil(n / p), those past the end zero; a whole result has all rows of its
    shards, and a slice of it leaves off those that are too many.
    """

    def call(*args: Any) -> Any:
        mesh = mesh_of("manual")
        chosen = _chosen(axes, mesh)
        leaves, tree = pytrees.flatten(args)
        values = [as_value(leaf) for leaf in leaves]
        ins = _shardings(in_shardings, args, values, mesh, "manual: in_shardings")
        parts = [_shard(v, s, mesh, chosen) for v, s in zip(values, ins)]
        with region("manual's function", parts, is_isolated=True) as (body, shards):
            with _inside(current("manual"), chosen):
                result = function(*pytrees.unflatten(tree, shards))
            leaves, out_tree = pytrees.flatten(result)
            made = [as_value(leaf) for leaf in leaves]
            emit("shoal.yield", made, [])
        outs = _shardings(out_shardings, result, made, mesh, "manual: out_shardings")
        types = [_whole(v, s, mesh, chosen) for v, s in zip(made, outs)]
        attributes = {
            "mesh": f"@{mesh.name}",
            "manual_axes": _attribute(chosen),
            "in_shardings": f"[{', '.join(s.attribute() for s in ins)}]",
            "out_shardings": f"[{', '.join(s.attribute() for s in outs)}]",
        }
        results = emit("shoal.manual_computation", values, types, attributes, [body])
        return pytrees.unflatten(out_tree, results)

    return call


def _axes(axes: Axes, mesh: Mesh, what: str) -> tuple[str, ...]:
    listed = (axes,) if isinstance(axes, str) else tuple(axes)
    for i, axis in enumerate(listed):
        check(axis in mesh.axes, f'{what}: axis "{axis}" is not one of {mesh!r}')
        check(axis not in listed[:i], f'{what}: axis "{axis}" occurs twice')
    return listed


def _chosen(axes: Axes | None, mesh: Mesh) -> tuple[str, ...]:
    around = current("manual").manual_axes
    if axes is None:
        return tuple(axis for axis in mesh.axes if axis not in around)
    listed = _axes(axes, mesh, "manual")
    for axis in listed:
        check(axis not in around, f'manual: axis "{axis}" is manual already around it')
    return listed


def _attribute(axes: Sequence[str]) -> str:
    return f"#shoal<axes{{{', '.join(map(ir.quoted, axes))}}}>"


def _shardings(
    prefix: Any, tree: Any, values: Sequence[Value], mesh: Mesh, what: str
) -> list[Sharding]:
    specs = pytrees.flatten_shardings(prefix, tree, what)
    found = [as_sharding(spec or (), v.shape, mesh, what) for spec, v in zip(specs, values)]
    around = current("manual").manual_axes
    for axis in (axis for sharding in found for dim in sharding.dims for axis in dim.axes):
        check(axis.name not in around, f'{what}: axis "{axis.name}" is manual around it')
    return found


def _parts(sharding: Sharding, mesh: Mesh, axes: Sequence[str]) -> list[int]:
    """Into how many parts each dimension falls along these axes."""
    return [
        math.prod(axis.size or mesh.axes[axis.name] for axis in dim.axes if axis.name in axes)
        for dim in sharding.dims
    ]


def _shard(value: Value, sharding: Sharding, mesh: Mesh, axes: Sequence[str]) -> Type:
    parts = _parts(sharding, mesh, axes)
    return tuple(-(-size // count) for size, count in zip(value.shape, parts)), value.dtype


def _whole(value: Value, sharding: Sharding, mesh: Mesh, axes: Sequence[str]) -> Type:
    parts = _parts(sharding, mesh, axes)
    return tuple(size * count for size, count in zip(value.shape, parts)), value.dtype


@contextlib.contextmanager
def _inside(trace: Trace, axes: tuple[str, ...]) -> Iterator[None]:
    around = trace.manual_axes
    trace.manual_axes = around + axes
    try:
        yield
    finally:
        trace.manual_axes = around


def _group(axes: Axes, what: str) -> tuple[tuple[str, ...], dict[str, str], int]:
    """The axes, the attribute that names their mesh, and how many devices are along them."""
    trace, mesh = current(what), mesh_of(what)
    listed = _axes(axes, mesh, what)
    for axis in listed:
        check(
            axis in trace.manual_axes,
            f'{what}: axis "{axis}" is not one of a shoal.manual around it',
        )
    return listed, {"mesh": f"@{mesh.name}"}, math.prod(mesh.axes[axis] for axis in listed)


def _per_dim(axes: tuple[str, ...], dim: int, rank: int) -> str:
    return f"[{', '.join(_attribute(axes if d == dim else ()) for d in range(rank))}]"


def all_reduce(x: ArrayLike, axes: Axes, kind: str = "sum") -> Value:
    """The reduction (sum, prod, max, min, and, or) over the devices along the axes, on each."""
    value = as_value(x)
    check_reducible(kind, value, "all_reduce")
    listed, attributes, _ = _group(axes, "all_reduce")
    attributes |= {"kind": kind_attribute(kind), "axes": _attribute(listed)}
    return emit_one("spmd.all_reduce", [value], value.shape, value.dtype, attributes)


def all_gather(x: ArrayLike, axes: Axes, dim: int = 0) -> Value:
    """The devices' values one behind the other along a dimension, on each."""
    value = as_value(x)
    listed, attributes, count = _group(axes, "all_gather")
    place = as_axis(dim, value.ndim, "all_gather")
    shape = [size * count if d == place else size for d, size in enumerate(value.shape)]
    attributes |= {"axes": _per_dim(listed, place, value.ndim)}
    return emit_one("spmd.all_gather", [value], shape, value.dtype, attributes)


def reduce_scatter(x: ArrayLike, axes: Axes, dim: int = 0, kind: str = "sum") -> Value:
    """The reduction over the devices; each keeps its own part of a dimension."""
    value = as_value(x)
    check_reducible(kind, value, "reduce_scatter")
    listed, attributes, count = _group(axes, "reduce_scatter")
    place = as_axis(dim, value.ndim, "reduce_scatter")
    _check_divides(value, place, count, "reduce_scatter")
    shape = [size // count if d == place else size for d, size in enumerate(value.shape)]
    attributes |= {"kind": kind_attribute(kind), "axes": _per_dim(listed, place, value.ndim)}
    return emit_one("spmd.reduce_scatter", [value], shape, value.dtype, attributes)


def all_to_all(x: ArrayLike, axes: Axes, source: int, target: int) -> Value:
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


def ring_shift(x: ArrayLike, axes: Axes, by: int = 1) -> Value:
    """The value of the device `by` places before this one along the axes, around the end."""
    value = as_value(x)
    listed, attributes, count = _group(axes, "ring_shift")
    names = _attribute(listed)
    attributes |= {
        "source_axes": names,
        "target_mesh": attributes["mesh"],
        "target_axes": names,
        "shift": f"{as_int(by, 'ring_shift: by') % count} : i64",
    }
    return emit_one("spmd.collective_permute", [value], value.shape, value.dtype, attributes)


def axis_index(axes: Axes) -> Value:
    """The device's place along the axes, read from major to minor as one int32."""
    listed, attributes, _ = _group(axes, "axis_index")
    attributes |= {"axes": _attribute(listed)}
    return emit_one("spmd.axis_index", [], (), dtypes.INT32, attributes)


def _check_divides(value: Value, dim: int, count: int, what: str) -> None:
    check(
        value.shape[dim] % count == 0,
        f"{what}: dimension {dim} of size {value.shape[dim]} is not divisible by {count} devices",
    )
