# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which choices find room with their experts, and in which row of the buffer."""

from __future__ import annotations

from shoal.arrays import (
    Array, ArrayLike, argsort, broadcast_to, concatenate, cumsum, logical_and, max, maximum, one_hot, ones, sum,
    take_along_axis, where,
)  # fmt: skip
from shoal.errors import TraceError
from shoal.moe import noise
from shoal.moe.config import MoeConfig
from shoal.moe.routing import Routing

__all__ = ["limit"]

_EPSILON = 1.1920928955078125e-07  # of float32


def limit(routing: Routing, config: MoeConfig, key: ArrayLike | None = None) -> Routing:
    """The routing with `kept` and `place`, and weights that are zero where a choice is dropped.

    Capacities and places are those of each group of the whole arrays, wherever these lie. Of
    equal weights the earlier token's stays. Without a capacity all valid choices are kept.
    key: of later choices that are sampled, and of random drops.
    """
    if routing.tokens is not None:  # experts chose as many as they have room for
        return routing._replace(weights=where(routing.kept, routing.weights, 0.0))
    counted = routing.valid.reshape(*routing.valid.shape, 1) > 0
    counted = broadcast_to(counted, routing.experts.shape)
    room = config.rows(routing.experts.shape[1])
    kept, place = counted, None
    if room is not None:
        kept, place = _within(routing, config, counted, room, key)
    else:  # of slots that all tokens have room in
        place = _count_earlier(routing.experts, counted, config.experts.number, "choice")
    kept = logical_and(kept, _stays(routing, config, key))
    weights = where(kept, routing.weights, 0.0)
    if config.capacity is not None and config.capacity.renormalize:
        weights = weights / maximum(sum(weights, -1, keepdims=True), _EPSILON)
    return routing._replace(weights=weights, kept=kept, place=place)


def _stays(routing: Routing, config: MoeConfig, key: ArrayLike | None) -> Array:
    """GShard's Algorithm 1: later choices stay as often as twice their weight says."""
    shape = routing.experts.shape
    if config.router.sampling != "later" or key is None:
        return ones(shape, "bool", like=routing.weights)
    groups, tokens, k = shape
    drawn = noise.even(noise.LATER, (groups, tokens, k - 1), key, routing.weights)
    later = 2 * routing.weights[:, :, 1:] > drawn
    return concatenate([ones((groups, tokens, 1), "bool", like=later), later], -1)


def _within(
    routing: Routing, config: MoeConfig, counted: Array, room: int, key: ArrayLike | None
) -> tuple[Array, Array]:
    """Which choices are among the `room` ones that an expert keeps, and their places."""
    drops = config.capacity.drops
    if drops.startswith("position"):
        place = _places(routing, config, counted)
        return logical_and(counted, place < room), place
    if drops == "probs":
        return _largest(routing, config, counted, room, routing.weights)
    if key is None:
        raise TraceError('limit: drops="random" needs a key')
    drawn = noise.even(noise.PRIORITIES, routing.experts.shape, key, routing.weights)
    return _largest(routing, config, counted, room, drawn)


def _largest(
    routing: Routing, config: MoeConfig, counted: Array, room: int, importance: Array
) -> tuple[Array, Array]:
    """The `room` most important choices of each expert, in token order in its buffer."""
    experts = config.experts.number
    chosen = one_hot(routing.experts, experts, importance.dtype)  # [G, S, k, E]
    of_expert = sum(chosen * (where(counted, importance, -1.0) + 1.0)[..., None], 2)
    best_first = argsort(of_expert, 1, descending=True)  # [G, S, E]; stable: earlier tokens first
    rank = argsort(best_first, 1)
    fits = logical_and(rank < room, of_expert > 0)
    kept = logical_and(take_along_axis(fits, routing.experts, -1), counted)
    return kept, _count_earlier(routing.experts, kept, experts, "token")


def _places(routing: Routing, config: MoeConfig, counted: Array) -> Array:
    """[G, S, k] int32: how many counted choices of the same expert come earlier."""
    rest = config.experts.number, "token" if config.capacity.drops == "position of token" else "choice"
    if not config.capacity.prioritized:
        return _count_earlier(routing.experts, counted, *rest)
    # Tokens with larger scores first (arXiv 2106.05974): count in that order, and turn back.
    order = argsort(max(routing.scores, -1), 1, descending=True)

    def reordered(values: Array, by: Array) -> Array:
        return take_along_axis(values, broadcast_to(by[..., None], values.shape), 1)

    in_order = reordered(routing.experts, order), reordered(counted, order)
    return reordered(_count_earlier(*in_order, *rest), argsort(order, 1))


def _count_earlier(experts: Array, counted: Array, count: int, order: str) -> Array:
    """order: "choice", all first choices before all second ones, or "token", token by token."""
    groups, tokens, k = experts.shape
    chosen = one_hot(experts, count, "int32") * counted[..., None].astype("int32")
    by_choice = order == "choice"
    if by_choice:
        chosen = chosen.transpose(0, 2, 1, 3)
    line = chosen.reshape(groups, k * tokens, count)
    earlier = sum(cumsum(line, 1, exclusive=True) * line, -1)
    if by_choice:
        return earlier.reshape(groups, k, tokens).swapaxes(1, 2)
    return earlier.reshape(groups, tokens, k)
