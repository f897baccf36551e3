# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ring attention (arXiv 2310.01889): keys and values go from device to device along "cp".

Each device has a block of places. A step sends the keys and values that it has on to the next device
and adds what its queries see of those that came, with the softmax's largest score and sum so far.

Letters: as in `shoal.models.scores`; c devices, s places of a block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from shoal.arrays import (
    Array, as_value, axis_index, broadcast_to, concatenate, dynamic_slice, einsum, exp, fori_loop, full, halves, iota, manual, max,
    maximum, ring_shift, stop_gradient, sum, where, zeros,
)  # fmt: skip
from shoal.frontend import pytrees
from shoal.models.config import Chunk
from shoal.models.scores import HIDDEN, Rule, seen_by, within_segments
from shoal.moe.layout import Layout

__all__ = ["ring"]

Tree = Any


class Softmax(NamedTuple):
    """Of the scores so far: their largest and the sum of exp(score - largest) [B, K, R, s], and the
    sum of the values times that [B, K, R, s, H]; float32."""

    largest: Array
    total: Array
    made: Array


class Piece(NamedTuple):
    """Queries or keys and values of one run of places: arrays [B, s, ...], positions [s], and segments [B, s], none
    where all places are of one document."""

    arrays: tuple[Array, ...]
    positions: Array
    segments: tuple[Array, ...] = ()


@dataclass(frozen=True)
class _Ring:
    """The devices along cp, and where the places of each are; segments [B, S] of all of them, or none."""

    axes: tuple[str, ...]
    count: int  # c
    rule: Rule
    segments: tuple[Array, ...] = ()

    @property
    def hops(self) -> int:
        return self.count - 1

    def places(self, device: Array, length: int) -> Array:
        """The positions of the block of a device, int32 [s]."""
        return device * length + iota((length,), 0, like=device)

    def segments_of(self, device: Array, length: int) -> tuple[Array, ...]:
        """Those of the block of a device, [B, s]."""
        return tuple(dynamic_slice(x, [0, device * length], [x.shape[0], length]) for x in self.segments)

    def hops_of(self, length: int) -> int:
        """How far back the window of a block's first place reaches, in blocks of `length`."""
        window = self.rule.window
        if window is None:
            return self.hops
        reach = window.size if isinstance(window, Chunk) else window
        return min(self.hops, -(-(reach - 1) // length))

    def add(self, state: Softmax, queries: Piece, seen: Piece) -> Softmax:
        """With what queries see of further keys and values."""
        (q,), (k, v) = queries.arrays, seen.arrays
        scores = einsum("BSKRD,BTKD->BKRST", q, k, dtype="float32") * self.rule.scale
        grid = (q.shape[1], k.shape[1])
        row = broadcast_to(queries.positions.reshape(-1, 1), grid)
        column = broadcast_to(seen.positions.reshape(1, -1), grid)
        sees = seen_by(row, column, self.rule.window)
        for rows, columns in zip(queries.segments, seen.segments):
            sees = within_segments(sees, rows, columns)
        scores = where(broadcast_to(sees, scores.shape), scores, HIDDEN)
        # Results do not depend on what is subtracted, so it has no gradient.
        before = stop_gradient(state.largest)
        largest = maximum(before, stop_gradient(max(scores, -1)))
        old, weights = exp(before - largest), exp(scores - largest[..., None])
        made = einsum("BKRST,BTKH->BKRSH", weights.astype(v.dtype), v, dtype="float32")
        total = state.total * old + sum(weights, -1)
        return Softmax(largest, total, state.made * old[..., None] + made)

    def walk(self, step: Callable[..., Tree], hops: int, state: Tree, *kv: Array) -> Tree:
        """state = step(device, state, *kv), once for each of the devices before this one.

        kv: this device's keys and values; those of `device` come to the step.
        """
        me = axis_index(self.axes, like=kv[0])

        def body(hop: Array, carry: tuple[Tree, ...]) -> tuple[Tree, ...]:
            state, *kv = carry
            kv = [ring_shift(x, self.axes) for x in kv]
            device = (me + (self.count - 1) - hop) % self.count
            return step(device, state, *kv), *kv

        return fori_loop(0, hops, body, (state, *kv))[0] if hops else state


def ring(layout: Layout, q: Array, k: Array, v: Array, rule: Rule) -> Array:
    """[B, S, K, R, H] of q [B, S, K, R, D], k [B, S, K, D], v [B, S, K, H]."""
    heads = "tp" if k.shape[2] >= layout.size("tp") else None
    rows = "dp" if k.shape[0] >= layout.size("dp") else None
    axes = layout.axes("cp", *(role for role in (rows, heads) if role))
    walk = _contiguous if rule.order is None else _balanced

    def on_device(q: Array, k: Array, v: Array, further: dict[str, Array]) -> Array:
        segments = (further["segments"],) if "segments" in further else ()
        around = _Ring(layout.axes("cp"), layout.size("cp"), rule, segments)
        state = walk(around, _begin(q, v.shape[3], further.get("sinks")), q, k, v)
        made = state.made / state.total[..., None]
        return made.transpose(0, 3, 1, 2, 4).astype(v.dtype)

    outer, inner = layout.P(rows, "cp", heads, None, None), layout.P(rows, "cp", heads, None)
    given, places = {}, {}
    if rule.sinks is not None:
        given["sinks"] = as_value(rule.sinks, q).astype("float32").reshape(q.shape[2], q.shape[3])
        places["sinks"] = layout.P(heads, None)
    if rule.segments is not None:  # of all places, as they are few bytes
        given["segments"], places["segments"] = rule.segments, layout.P(rows, None)
    made = manual(on_device, (outer, inner, inner, places), outer, axes, layout.mesh)(q, k, v, given)
    return made[: q.shape[0], : q.shape[1], : q.shape[2]]


def _begin(q: Array, size: int, sinks: Array | None = None) -> Softmax:
    """Before the first score: none, or that of each head's sink [K, R]."""
    batch, length, shared, copies, _ = q.shape
    shape = (batch, shared, copies, length)
    made = zeros((*shape, size), "float32", like=q)
    if sinks is None:
        return Softmax(full(shape, HIDDEN, "float32", like=q), zeros(shape, "float32", like=q), made)
    largest = stop_gradient(sinks)
    total = exp(sinks - largest)
    spread = (broadcast_to(x.reshape(1, shared, copies, 1), shape) for x in (largest, total))
    return Softmax(*spread, made)


def _contiguous(around: _Ring, state: Softmax, q: Array, k: Array, v: Array) -> Softmax:
    """Device i has block i. A window ends the walk where no query sees what comes."""
    length, me = q.shape[1], axis_index(around.axes, like=q)

    def piece(device: Array, *arrays: Array) -> Piece:
        return Piece(arrays, around.places(device, length), around.segments_of(device, length))

    queries = piece(me, q)
    state = around.add(state, queries, piece(me, k, v))

    def step(device: Array, state: Softmax, *kv: Array) -> Softmax:
        return around.add(state, queries, piece(device, *kv))

    return around.walk(step, around.hops_of(length), state, k, v)


def _balanced(around: _Ring, state: Softmax, q: Array, k: Array, v: Array) -> Softmax:
    """Device i has the pieces i and 2 c - 1 - i; from device j come j and 2 c - 1 - j.

    The later queries see the earlier keys in any case. Of the other pairs of pieces one is seen:

      j < i: the earlier queries see the earlier keys, and none the later keys;
      j > i: the later queries see the later keys, and the earlier queries none.

    So a step is two products of pieces, half of a block's, on every device.
    """
    length, me = q.shape[1] // 2, axis_index(around.axes, like=q)

    def pieces(device: Array, *arrays: Array) -> tuple[Piece, Piece]:
        late = 2 * around.count - 1 - device
        parts = [halves(x, 1) for x in arrays]
        segments = [halves(x, 1) for x in around.segments_of(device, 2 * length)]
        places = (around.places(device, length), around.places(late, length))

        def piece(half: int) -> Piece:
            return Piece(tuple(part[half] for part in parts), places[half], tuple(part[half] for part in segments))

        return piece(0), piece(1)

    queries, own = pieces(me, q), pieces(me, k, v)
    early, late = (Softmax(*parts) for parts in zip(*(halves(x, 3) for x in state)))
    early = around.add(early, queries[0], own[0])
    late = around.add(around.add(late, queries[1], own[0]), queries[1], own[1])

    def step(device: Array, states: tuple[Softmax, Softmax], *kv: Array) -> tuple[Softmax, Softmax]:
        early, late = states
        keys = pieces(device, *kv)
        late = around.add(late, queries[1], keys[0])
        is_before = device < me
        added = _chosen(is_before, early, late)
        added = around.add(added, _chosen(is_before, *queries), _chosen(is_before, *keys))
        return _chosen(is_before, added, early), _chosen(is_before, late, added)

    early, late = around.walk(step, around.hops, (early, late), k, v)
    return Softmax(*(concatenate(parts, 3) for parts in zip(early, late)))


def _chosen(condition: Array, a: Tree, b: Tree) -> Tree:
    """The one or the other tree of values, which are alike."""
    return pytrees.map_leaves(partial(where, condition), a, b)
