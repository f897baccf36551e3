# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows to their experts in two stages: a token once to each node that has one of its experts, then within the node.

Letters as in `exchanging`; N nodes, over which the e parts of experts lie, L = e / N to each; u = min(k, N) of them that a
token goes to at most; R' rows that a device gets from all nodes, and sends to them, T' choices that it passes on.

A token goes to the device of a node that has the sender's place there, with its experts' numbers. There it is a token of k
choices, of which those of the node's experts are kept, and the exchange within the node is the one of `exchanging`. Back
each node's results are weighed and summed before they leave it, so that one row crosses for a token and a node, either way
(DeepSeek-V3's report, arXiv 2412.19437, section 3.2.2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shoal.arrays import (
    Array, add_rows, axis_index, iota, logical_and, manual, one_hot, sum, take_rows, top_k, where, zeros,
)  # fmt: skip
from shoal.moe.buffers import Buffers
from shoal.moe.config import MoeConfig
from shoal.moe.exchanging import Exchanged, Places, Spread, bounds_of, places_for
from shoal.moe.hops import Hop, Lists, counts_of, in_order
from shoal.moe.layout import Layout
from shoal.moe.reach import mean_places
from shoal.moe.routing import Routing

__all__ = ["exchange_by_nodes"]


@dataclass(frozen=True)
class Stages:
    """The exchange between nodes and that within one. mean: how many nodes a token goes to."""

    places: Places
    mean: float

    @property
    def nodes(self) -> int:  # N
        return self.places.layout.nodes("ep")

    @property
    def most(self) -> int:  # u
        return min(self.places.k, self.nodes)

    @property
    def of_node(self) -> int:
        """Experts of a node, those past the end among them."""
        return self.places.local * self.places.parts // self.nodes

    @cached_property
    def outer(self) -> Hop:
        """Rows are for nodes, tokens of which a node has an expert."""
        factor, tokens = self.places.factor, self.places.tokens
        rows, room = self.most * tokens, self.nodes * tokens
        if factor is not None:
            rows, room = (min(most, math.ceil(factor * self.mean * tokens)) for most in (rows, room))
        mean = math.ceil(self.mean * tokens)
        return Hop(self.places.layout.outer("ep"), self.nodes, 1, 1, rows, room, factor is not None, mean)

    @cached_property
    def inner(self) -> Hop:
        """That of `Places`, without other nodes."""
        whole, outer = self.places.hop, self.outer
        axes = tuple(axis for axis in whole.axes if axis not in outer.axes)
        rows = outer.room * self.places.k
        if whole.bounded:
            rows = min(rows, math.ceil(self.places.factor * self.places.choices))
        # Balanced, as many come from all nodes as a device's tokens choose.
        mean = self.places.choices
        return Hop(axes, whole.parts // self.nodes, whole.copies, whole.local, rows, whole.room, whole.bounded, mean)


def stages_of(places: Places, config: MoeConfig) -> Stages:
    """Of such experts and choices."""
    nodes = places.layout.nodes("ep")
    return Stages(places, mean_places(config, places.k, nodes, places.local * places.parts // nodes))


def exchange_by_nodes(tokens: Array, routing: Routing, config: MoeConfig, layout: Layout) -> Buffers:
    """The rows of tokens [G, S, M] on the devices of their experts, as `exchange_rows` has them there."""
    places, spread = places_for(tokens, routing, config, layout)
    stages = stages_of(places, config)
    none = stages.nodes * stages.of_node
    expert = spread.out(where(routing.kept, routing.experts, none), none)
    weights = spread.out(routing.weights) if config.dispatch.before else None
    rows, between, within, bounds = _send(stages, spread.out(tokens), expert, weights)
    return Buffers(rows, Staged(*within, *bounds, spread, stages, between, weighs=weights is None))


def _nodes_of(expert: Array, stages: Stages) -> Array:
    """[1, n u] of experts [1, n, k]: the nodes that have one of a token's, N for no further one."""
    chosen = sum(one_hot(expert // stages.of_node, stages.nodes), 2)
    found, node = top_k(where(chosen > 0, 1.0, 0.0), stages.most)
    return where(found > 0, node, stages.nodes).reshape(1, -1)


def _own(expert: Array, stages: Stages) -> Array:
    """[1, R' k] of experts [R', k]: their numbers in this node, those of other nodes behind all."""
    mine = expert - axis_index(stages.outer.axes, like=expert) * stages.of_node
    own = logical_and(mine >= 0, mine < stages.of_node)
    return where(own, mine, stages.of_node).reshape(1, -1)


def _send(stages: Stages, tokens: Array, expert: Array, weights: Array | None) -> tuple[Any, ...]:
    """rows [O, e, t, R, M]; of each stage, between nodes first, order [W, rows] and lists [W, 6, slices]; begins and ends
    [O, e, t, X]."""
    places, k, none = stages.places, stages.places.k, stages.nodes * stages.of_node
    outer, inner = stages.outer, stages.inner

    def on_device(tokens: Array, expert: Array, *weights: Array) -> tuple[Array, ...]:
        nodes = _nodes_of(expert, stages)
        to_node = in_order(nodes, outer.rows)
        between, token = outer.lists(counts_of(nodes, stages.nodes, outer.rows)), to_node // stages.most

        def sent(value: Array, fill: int = 0) -> Array:
            return outer.forth(take_rows(value, token), between, fill)

        own = _own(sent(expert, none), stages)
        to_expert = in_order(own, inner.rows)
        within = inner.lists(counts_of(own, stages.of_node, inner.rows))
        rows = take_rows(sent(tokens).reshape(1, outer.room, -1), to_expert // k)
        for weight in weights:
            rows = rows * take_rows(sent(weight).reshape(1, -1), to_expert)[..., None].astype(rows.dtype)
        got = inner.forth(rows, within)
        listed = to_node, between.stacked(), to_expert, within.stacked()
        return got.reshape(1, 1, 1, *got.shape), *listed, *bounds_of(within, inner.local)

    given = (tokens, expert) if weights is None else (tokens, expert, weights)
    ins = tuple(places.by_device(value.ndim) for value in given)
    outs = (places.by_expert(5), *[places.by_device(rank) for rank in (2, 3, 2, 3)], *[places.by_expert(4)] * 2)
    rows, to_node, between, to_expert, within, *bounds = manual(on_device, ins, outs, places.all, places.layout.mesh)(*given)
    return rows, (to_node, between), (to_expert, within), bounds


def _added(rows: Array, numbers: Array, count: int) -> Array:
    """[count, M] float32: sums of rows [R, M] with the same numbers [1, R]."""
    none = zeros((1, count, rows.shape[1]), "float32", like=rows)
    return add_rows(none, numbers, rows.reshape(1, *rows.shape)).reshape(count, -1)


@dataclass(frozen=True)
class Staged(Exchanged):
    """As `Exchanged`, of which `order` and `lists` are those within the node.

    between: order [W, rows], of tokens' u nodes, and lists [W, 6, N]. weighs: weights go to the nodes, to weigh what comes
    back; else it was weighed before.
    """

    stages: Stages
    between: tuple[Array, Array]
    weighs: bool

    def combine(self, rows: Array, weights: Array) -> Array:
        stages, places = self.stages, self.spread.places
        outer, inner, k = stages.outer, stages.inner, places.k

        def on_device(made: Array, *given: Array) -> Array:
            to_node, between, to_expert, within, *weights = given
            lists = Lists.of(between)
            here = inner.back(made.reshape(inner.room, -1), Lists.of(within)).astype("float32")
            for weight in weights:
                there = outer.forth(take_rows(weight, to_node // stages.most), lists).reshape(1, -1)
                here = here * take_rows(there, to_expert).reshape(-1, 1)
            of_node = _added(here, to_expert // k, outer.room).astype(made.dtype)
            home = outer.back(of_node, lists).astype("float32")
            return _added(home, to_node // stages.most, places.tokens).reshape(1, places.tokens, -1)

        given = [rows, *self.between, self.order, self.lists]
        if self.weighs:
            given.append(self.spread.out(weights.astype("float32")))
        ins = (places.by_expert(5), *(places.by_device(value.ndim) for value in given[1:]))
        made = manual(on_device, ins, places.by_device(3), places.all, places.layout.mesh)(*given)
        return self.spread.home(made)
