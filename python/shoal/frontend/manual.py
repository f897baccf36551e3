# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of a program that are written for one device."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from shoal.frontend import pytrees
from shoal.frontend.annotations import AxisNames, as_sharding, axes_attribute, check_axes, mesh_of
from shoal.frontend.checks import check
from shoal.frontend.constants import as_value
from shoal.frontend.core import Trace, Type, current, emit, region
from shoal.frontend.value import Value
from shoal.mesh import Mesh, Sharding

__all__ = ["manual"]


def manual(
    function: Callable[..., Any],
    in_shardings: Any,
    out_shardings: Any,
    axes: AxisNames | None = None,
) -> Callable[..., Any]:
    """The function as it runs on one device along `axes`, for None all that are not manual yet.

    What this returns takes whole values. `function` gets their shards over
    these axes, as in_shardings says (a P for each, or for whole subtrees), and
    its results are the shards of the whole results, as out_shardings says. In
    it there are all_reduce, all_gather, reduce_scatter, all_to_all,
    ragged_all_to_all, ring_shift, permute and axis_index over these axes. It
    cannot use values from outside. A result whose sharding names not all the
    axes must be the same along the others.

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
            "manual_axes": axes_attribute(chosen),
            "in_shardings": f"[{', '.join(s.attribute() for s in ins)}]",
            "out_shardings": f"[{', '.join(s.attribute() for s in outs)}]",
        }
        results = emit("shoal.manual_computation", values, types, attributes, [body])
        return pytrees.unflatten(out_tree, results)

    return call


def _chosen(axes: AxisNames | None, mesh: Mesh) -> tuple[str, ...]:
    around = current("manual").manual_axes
    if axes is None:
        return tuple(axis for axis in mesh.axes if axis not in around)
    listed = check_axes(axes, mesh, "manual")
    for axis in listed:
        check(axis not in around, f'manual: axis "{axis}" is manual already around it')
    return listed


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
