# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From tokens to buffers and back. All dispatchers give the same sums (docs/guide/MoE.md)."""

from __future__ import annotations

from typing import NamedTuple

from shoal.arrays import (
    Array, ArrayLike, argsort, as_value, broadcast_to, cumsum, einsum, full, iota, one_hot, pad, put_rows, sum,
    take_rows, where,
)  # fmt: skip
from shoal.moe.buffers import Buffers, Chosen, Masks, Ragged, Slots, mask_of, to_experts
from shoal.moe.config import MoeConfig
from shoal.moe.exchanging import exchange_rows
from shoal.moe.layout import SINGLE, Layout
from shoal.moe.reach import mean_places
from shoal.moe.routing import Routing
from shoal.moe.scores import of_valid
from shoal.moe.staging import exchange_by_nodes

__all__ = ["Plan", "combine", "dispatch", "plan_dispatch"]


class Plan(NamedTuple):
    """A dispatcher, why it was taken with what each would send, and that as numbers: bytes a device, forward."""

    name: str
    reason: str
    bytes_sent: dict[str, float]


def dispatch(
    x: ArrayLike, routing: Routing, config: MoeConfig, layout: Layout = SINGLE
) -> Buffers:
    """The rows of tokens x [G, S, M] for the experts that `limit` left them."""
    tokens = as_value(x, routing.weights)
    if routing.tokens is not None:
        return _to_chosen(tokens, routing, config, layout)
    plan = plan_dispatch(tokens.shape, tokens.dtype.itemsize, config, layout)
    return _DISPATCHERS[plan.name](tokens, routing, config, layout)


def combine(buffers: Buffers, routing: Routing, config: MoeConfig) -> Array:
    """[G, S, M] float32: each token's rows, weighed and summed; zeros where all were dropped."""
    weights = routing.weights
    if config.dispatch.before:  # they went in before
        weights = routing.kept.astype("float32")
    return buffers.source.combine(buffers.rows, weights)


def plan_dispatch(
    shape: tuple[int, ...], width: int, config: MoeConfig, layout: Layout = SINGLE
) -> Plan:
    """The dispatcher of tokens [G, S, M] of `width` bytes: the named one, or which sends least.

    Bytes are those of a ring or pairwise exchange: of the all-to-all, 2 R (e - 1) / e +
    2 R (t - 1) with R rows' bytes, e = ep and t = etp, the second term for as many rows as there is
    room for where `moe_expert_rank_capacity_factor` says that; of the gather 2 n M b (e t - 1). In two stages it is as the
    all-to-all of a node's e, and between nodes 2 r (N - 1) / N of r rows' bytes, which are those of N nodes' tokens.
    """
    groups, tokens, model = shape
    room = config.rows(tokens)
    e, t, devices = layout.size("ep"), layout.size("etp"), layout.size("tokens")
    share = groups * tokens * model * width / devices
    slots = config.experts.number * room / tokens if room else config.router.k  # rows of a token
    sent = "alltoall" if room is None else "sort"
    filled = config.dispatch.rank_factor if room is None else None
    costs = {
        sent: 2 * slots * share * ((e - 1) / e + (filled or 1) * (t - 1)),
        "allgather": 2 * share * (e * t - 1),
    }
    nodes = layout.nodes("ep") if config.dispatch.how == "flex" else 1
    if nodes > 1:
        mean = mean_places(config, config.router.k, nodes, -(-config.experts.number // e) * e // nodes)
        within = config.router.k * ((e - nodes) / e + (config.dispatch.rank_factor or 1) * (t - 1))
        costs["flex"] = 2 * share * (mean * (nodes - 1) / nodes + within)
    name, reason = _choose(config, (room, e, t), costs)
    listed = " or ".join(f"{sent:.0f} by {other}" for other, sent in costs.items())
    return Plan(name, f"{reason}; a device sends {listed} bytes", costs)


def _choose(config: MoeConfig, sizes: tuple[int | None, int, int], costs: dict[str, float]) -> tuple[str, str]:
    """(name, why) of capacity, ep and etp, and what each would send."""
    named = config.dispatch.how
    room, e, t = sizes
    slots = _asked_slots(config)
    if e * t == 1 and named in ("auto", "alltoall", "flex"):
        return "sort", "experts lie whole on every device"
    if named == "flex" and "flex" not in costs:
        return "alltoall", "experts lie in one node"
    if named == "flex" and slots:
        return "alltoall", slots
    if named != "auto":
        return named, "named"
    if config.dispatch.rank_factor is not None:
        return "alltoall", "only exchanged rows have a buffer of a device, which is asked for"
    if room is None and t > 1:
        return "allgather", "nothing is dropped, and experts lie in parts"
    if slots:
        return "sort", slots
    return min(costs, key=costs.__getitem__), "the fewest bytes"


def _asked_slots(config: MoeConfig) -> str:
    """Why rows are in experts' buffers, filled or not; "" where nothing asks for that."""
    if config.dispatch.chunks > 1:
        return "buffers are cut in chunks"
    return "buffers are padded to their capacity" if config.capacity is not None and config.capacity.padded else ""


def _before(rows: Array, weights: Array, config: MoeConfig) -> Array:
    """Weights into the experts, where they are not behind them."""
    return rows * weights[..., None].astype(rows.dtype) if config.dispatch.before else rows


def _by_einsum(tokens: Array, routing: Routing, config: MoeConfig, layout: Layout) -> Buffers:
    room = config.rows(tokens.shape[1]) or tokens.shape[1]
    tokens = of_valid(tokens, routing.valid)  # products with the mask's zeros
    choices = one_hot(routing.experts, config.experts.number, tokens.dtype)
    places = one_hot(where(routing.kept, routing.place, -1), room, tokens.dtype)
    if config.dispatch.before:
        mask = mask_of(choices, places, routing.weights)
    else:
        mask = einsum("GSKE,GSKC->GSEC", choices, places)
    rows = to_experts(einsum("GSEC,GSM->EGCM", mask, tokens), layout, config.dispatch.chunks)
    return Buffers(rows, Masks(choices, places, layout))


def _by_slots(tokens: Array, routing: Routing, config: MoeConfig, layout: Layout) -> Buffers:
    groups, count, k = routing.experts.shape
    room, total = config.rows(count) or count, count * k
    slots = config.experts.number * room
    number = where(routing.kept, routing.experts * room + routing.place, slots).reshape(groups, total)
    choice = full((groups, slots), total, "int32", like=number)
    choice = put_rows(choice, number, iota((groups, total), 1, like=number))
    rows = take_rows(tokens, choice // k)
    rows = where(broadcast_to((choice < total)[..., None], rows.shape), rows, 0.0)
    rows = layout.constrain(rows, "tokens", None, None)  # these travel, and no numbers
    weights = take_rows(routing.weights.reshape(groups, total), choice)
    rows = _before(rows, weights, config).reshape(groups, config.experts.number, room, -1)
    sent = to_experts(rows.transpose(1, 0, 2, 3), layout, config.dispatch.chunks)
    return Buffers(sent, Slots(number, (count, k, room), layout))


def _to_chosen(tokens: Array, routing: Routing, config: MoeConfig, layout: Layout) -> Buffers:
    groups, experts, room = routing.tokens.shape
    numbers = routing.tokens.reshape(groups, experts * room)
    rows = take_rows(of_valid(tokens, routing.valid), numbers).reshape(groups, experts, room, -1)
    sent = to_experts(rows.transpose(1, 0, 2, 3), layout, config.dispatch.chunks)
    return Buffers(sent, Chosen(numbers, tokens.shape[1], layout))


def _by_sorting(tokens: Array, routing: Routing, config: MoeConfig, layout: Layout) -> Buffers:
    tokens, routing = _evenly(tokens, routing, layout)
    return _sorted(tokens, _expert_of(routing, config), routing, config, (1, layout))


def _evenly(tokens: Array, routing: Routing, layout: Layout) -> tuple[Array, Routing]:
    """In a group for each device: what is sorted by expert has no room of its own in a group."""
    groups = layout.even_groups(*tokens.shape[:2])
    return layout.spread(tokens.reshape(groups, -1, tokens.shape[2])), routing.regrouped(groups)


def _expert_of(routing: Routing, config: MoeConfig) -> Array:
    """[G, T]: each choice's expert; E of those that are dropped."""
    expert = where(routing.kept, routing.experts, config.experts.number)
    return expert.reshape(expert.shape[0], -1)


def _sorted(
    tokens: Array, expert: Array, routing: Routing, config: MoeConfig, parts: tuple[int, Layout]
) -> Buffers:
    """Choices in order of their experts; those that are dropped last, with no expert."""
    (groups, count, k), experts, (number, layout) = routing.experts.shape, config.experts.number, parts
    order = argsort(expert, 1)
    rows = take_rows(tokens, order // k)
    rows = _before(rows, take_rows(routing.weights.reshape(groups, count * k), order), config)
    size = -(-experts // number)
    sizes = sum(one_hot(expert, experts, "int32"), 1)
    sizes = pad(sizes, [(0, 0, 0), (0, number * size - experts, 0)], 0)
    ends = layout.constrain(cumsum(sizes, 1), "edp", None)
    bounds = (edge.reshape(groups, number, size) for edge in (ends - sizes, ends))
    return Buffers(rows, Ragged(order, *bounds, layout))


def _by_sort(tokens: Array, routing: Routing, config: MoeConfig, layout: Layout) -> Buffers:
    drops = config.rows(tokens.shape[1]) is not None
    return (_by_slots if drops else _by_sorting)(tokens, routing, config, layout)


def _by_alltoall(tokens: Array, routing: Routing, config: MoeConfig, layout: Layout) -> Buffers:
    if config.rows(tokens.shape[1]) is not None:
        return _by_slots(tokens, routing, config, layout)
    return exchange_rows(tokens, routing, config, layout)


def _by_allgather(tokens: Array, routing: Routing, config: MoeConfig, layout: Layout) -> Buffers:
    """Each device gets all tokens of its ep and etp, and multiplies those of its experts."""
    tokens, routing = _evenly(tokens, routing, layout)
    gathered = layout.constrain(tokens, "edp", None, None)
    expert = layout.constrain(_expert_of(routing, config), "edp", None)
    return _sorted(gathered, expert, routing, config, (layout.size("ep"), layout))


_DISPATCHERS = {
    "einsum": _by_einsum,
    "sort": _by_sort,
    "alltoall": _by_alltoall,
    "flex": exchange_by_nodes,
    "allgather": _by_allgather,
}
