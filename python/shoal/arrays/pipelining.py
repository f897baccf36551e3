# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pipelines: stages of a function on devices one behind the other (docs/guide/Pipelines.md).

Letters: p devices along the axes, V stages on each, S = V p stages, m micro-batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from shoal.arrays.dimensions import as_value, broadcast_to, dynamic_slice, sum, zeros
from shoal.arrays.elementwise import clip, logical_and, where
from shoal.arrays.places import axis_index, manual, mesh_around, ring_shift
from shoal.arrays.programs import scan, stop_gradient
from shoal.arrays.worlds import Array, like
from shoal.errors import TraceError
from shoal.frontend import dtypes, pytrees
from shoal.frontend.annotations import AxisNames, P, check_axes
from shoal.frontend.checks import check
from shoal.mesh import Mesh

__all__ = ["pipeline"]

Tree = Any
# (a stage's parameters, what it gets, the micro-batch's row) to (what it hands on, what it records).
Stage = Callable[[Tree, Tree, Tree], tuple[Tree, Tree]]


def pipeline(
    stage: Stage, params: Tree, xs: Tree, axes: AxisNames = (), rows: Tree = None, mesh: Mesh | None = None
) -> tuple[Tree, Tree]:
    """Each micro-batch through all stages, one after the other: `x, record = stage(params_s, x, row)`.

    Device d along `axes` has the stages d, p + d, ..., (V - 1) p + d, as many as `params` says. While it
    works on one micro-batch, those before it work on later ones: m V + p - 1 ticks, after each of
    which every device sends what it made to the next (GPipe, arXiv 1811.06965; interleaved, arXiv
    2104.04473). Along other axes the stage is partitioned as anything else. Without axes all
    stages are here: the same result, and what a gradient sums is summed in the same order.

    stage: makes of a tree like a row of xs another one, and a tree of what is to be known of it. It can
      use no values from outside: what stages differ by is in `params`, what micro-batches differ by in `rows`.
    params: a tree of [V, p, ...]; stage v p + d has [v, d].
    xs: a tree of [m, ...], what the first stage gets. rows: a tree of [m, ...] that all stages read.
    mesh: that the axes are of; None: the program's, or the one that jax.set_mesh has set.
    Returns ([m, ...] of the last stage, records [V, p, m, ...]).
    TraceError where p does not divide m and V > 1: the first stage would wait for the last one.
    """
    world = like(*pytrees.flatten((params, xs, rows))[0])
    params, xs, rows = pytrees.map_leaves(lambda leaf: as_value(leaf, world), (params, xs, rows))
    mesh = _mesh(world) if axes and mesh is None else mesh
    ring = _ring(params, (xs, rows), axes, mesh)
    by_device, by_stage = P(ring.axes, ...), P(None, ring.axes, ...)

    def run(params: Tree, xs: Tree, rows: Tree) -> tuple[Tree, Tree]:
        return _run(stage, ring, params, xs, rows)

    if ring.axes:
        run = manual(run, (by_stage, by_device, by_device), (by_device, by_stage), ring.axes, mesh)
    last, records = run(params, _on_each(xs, ring.devices), _on_each(rows, ring.devices))
    # Zeros but from the last device. A sum, so that the compiler chooses who adds them.
    return pytrees.map_leaves(lambda value: sum(value, 0).astype(value.dtype), last), records


def _mesh(world: Array) -> Mesh:
    mesh = mesh_around(world)
    if mesh is None:
        raise TraceError("pipeline: the program has no mesh; give shoal.trace or shoal.compile one, or set JAX's")
    return mesh


@dataclass(frozen=True)
class _Ring:
    """p devices with V stages each, and m micro-batches that pass them."""

    axes: tuple[str, ...]
    devices: int
    turns: int  # V
    count: int  # m

    @property
    def items(self) -> int:
        """What each device does: every micro-batch for every stage of its own."""
        return self.turns * self.count

    @property
    def ticks(self) -> int:
        return self.items + self.devices - 1

    def item(self, number: Array) -> tuple[Array, Array]:
        """Which of its stages an item of a device is of, and which micro-batch.

        p micro-batches pass all its stages before the next p do: the last device hands the first
        of them on in the tick in which the first device has begun the last one.
        """
        group = self.devices * self.turns
        return number % group // self.devices, number // group * self.devices + number % self.devices

    def by_turn(self, values: Array) -> Array:
        """[V m, ...] of a device's items as [V, m, ...]."""
        rest = values.shape[1:]
        if self.turns == 1:
            return values.reshape(1, self.count, *rest)
        grouped = values.reshape(-1, self.turns, self.devices, *rest)
        return grouped.swapaxes(0, 1).reshape(self.turns, self.count, *rest)


def _ring(params: Tree, of_rows: Tree, axes: AxisNames, mesh: Mesh | None) -> _Ring:
    listed = check_axes(axes, mesh, "pipeline") if axes and mesh is not None else ()
    devices = math.prod(mesh.axes[axis] for axis in listed) if mesh is not None else 1
    stages, counts = _leading(params, 2, "params"), _leading(of_rows, 1, "xs and rows")
    check(len(counts) == 1, f"pipeline: expected one number of micro-batches, got {sorted(counts)}")
    check(len(stages) == 1, f"pipeline: expected params of one number of stages, got {sorted(stages)}")
    ((count,),), ((turns, found),) = counts, stages
    check(
        found == devices and turns > 0,
        f"pipeline: params of {turns} x {found} stages on {devices} devices: expected [V, {devices}, ...]",
    )
    check(count > 0, "pipeline: no micro-batches")
    check(
        turns == 1 or count % devices == 0,
        f"pipeline: {count} micro-batches through {turns} stages on each of {devices} devices: "
        f"{count} is not divisible by {devices}",
    )
    return _Ring(listed, devices, turns, count)


def _leading(tree: Tree, rank: int, what: str) -> set[tuple[int, ...]]:
    """The first sizes of all leaves."""
    leaves = pytrees.flatten(tree)[0]
    check(leaves, f"pipeline: {what} have no values")
    for path, leaf in zip(pytrees.paths(tree), leaves):
        check(
            leaf.ndim >= rank,
            f"pipeline: {what}{pytrees.place(path)}: {leaf!r} has no {rank} dimensions in front",
        )
    return {leaf.shape[:rank] for leaf in leaves}


def _on_each(tree: Tree, devices: int) -> Tree:
    """A copy for each device, so that cotangents are each one's: whether their sum is made is left to the compiler."""

    return pytrees.map_leaves(lambda leaf: broadcast_to(leaf, (devices, *leaf.shape)), tree)


def _run(stage: Stage, ring: _Ring, params: Tree, xs: Tree, rows: Tree) -> tuple[Tree, Tree]:
    """On one device, params [V, 1, ...], xs and rows [1, m, ...]: [1, m, ...] and records [V, 1, m, ...]."""
    world = like(*pytrees.flatten(xs)[0])
    place = axis_index(ring.axes, like=world) if ring.axes else as_value(0, world)
    # The loop sums their gradients over micro-batches, in the type of what it reads.
    read = pytrees.map_leaves(lambda leaf: leaf.astype(dtypes.of_sums(leaf.dtype)), params)

    def tick(state: tuple[Array, Tree], _: None) -> tuple[Tree, Tree]:
        time, before = state
        number = clip(time - place, 0, ring.items - 1)
        turn, batch = ring.item(number)
        enters = logical_and(place == 0, turn == 0)
        passed = pytrees.map_leaves(lambda value: ring_shift(value, ring.axes), before) if ring.axes else before
        x = pytrees.map_leaves(partial(where, enters), _row(xs, batch), passed)
        of_stage = pytrees.map_leaves(lambda leaf, like: leaf.astype(like.dtype), _stage(read, turn), params)
        made, record = stage(of_stage, x, _row(rows, batch))
        made = _like(made, x)
        return (time + 1, made), (made, record)

    # A device that waits works on what there is, as zeros may have no finite derivative.
    begin = pytrees.map_leaves(lambda value: stop_gradient(value[0, 0]), xs)
    _, made = scan(tick, (as_value(0, world), begin), length=ring.ticks)
    made, records = pytrees.map_leaves(lambda value: ring.by_turn(_from(value, place, ring.items)), made)
    is_last = place == ring.devices - 1
    last = pytrees.map_leaves(lambda value: where(is_last, value[-1:], zeros((), value.dtype, like=value)), made)
    return last, pytrees.map_leaves(lambda value: value[:, None], records)


def _stage(params: Tree, turn: Array) -> Tree:
    """One of the stages, [V, 1, ...]; where there is one, the same in all ticks."""
    return pytrees.map_leaves(lambda leaf: leaf[0 if leaf.shape[0] == 1 else turn, 0], params)


def _row(tree: Tree, batch: Array) -> Tree:
    return pytrees.map_leaves(lambda leaf: leaf[0, batch], tree)


def _from(values: Array, begin: Array, count: int) -> Array:
    """So many rows."""
    return dynamic_slice(values, [begin, *[0] * (values.ndim - 1)], [count, *values.shape[1:]])


def _like(made: Tree, x: Tree) -> Tree:
    """What a stage hands on, which must be like what it got: TraceError says where it is not."""
    leaves, tree = pytrees.flatten(made)
    expected, spec = pytrees.flatten(x)
    check(
        tree == spec,
        f"pipeline: the stage makes {pytrees.describe(tree)} of {pytrees.describe(spec)}",
    )
    values = [as_value(leaf, given) for leaf, given in zip(leaves, expected)]
    for path, value, given in zip(pytrees.paths(x), values, expected):
        check(
            (value.shape, value.dtype) == (given.shape, given.dtype),
            f"pipeline: the stage makes {value!r} of {given!r}{pytrees.place(path)}",
        )
    return pytrees.unflatten(spec, values)
