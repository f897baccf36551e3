# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layer: route, limit, dispatch, apply_experts, combine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from shoal.arrays import Array, ArrayLike, as_value, largest, like, max, one_hot, sum, summed
from shoal.frontend import metrics
from shoal.frontend.checks import check
from shoal.moe.buffers import Buffers
from shoal.moe.config import MoeConfig
from shoal.moe.dispatching import combine, dispatch
from shoal.moe.exchanging import Exchanged
from shoal.moe.experts import Expert, apply_experts, beside
from shoal.moe.layout import SINGLE, Layout
from shoal.moe.limiting import limit
from shoal.moe.losses import balance_losses
from shoal.moe.parameters import as_used, check_params
from shoal.moe.parts import OwnRouter, Router
from shoal.moe.routing import Routing, route
from shoal.moe.scores import of_valid

__all__ = ["MoeMetrics", "MoeOutput", "metrics_of", "moe"]


class MoeMetrics(NamedTuple):
    """What a layer did with its valid choices, float32.

    counts [E]: choices before drops, which `update_expert_bias` takes; kept [E]: those that found
    room; needed []: the capacity with which none would have been dropped. Of a batch in parts counts and kept
    are their sums, needed is the largest.
    """

    counts: Array
    kept: Array
    needed: Array

    def marked(self) -> MoeMetrics:
        """The same, where each says so."""
        return MoeMetrics(summed(self.counts), summed(self.kept), largest(self.needed))


class MoeOutput(NamedTuple):
    """y like x, zero for tokens that no expert had room for: add x to it. losses: {name: []}."""

    y: Array
    losses: dict[str, Array]
    metrics: MoeMetrics


def moe(
    x: ArrayLike,
    params: Mapping[str, Any],
    config: MoeConfig,
    layout: Layout = SINGLE,
    *,
    bias: ArrayLike | None = None,
    key: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    token_ids: ArrayLike | None = None,
    training: bool | None = None,
    expert: Expert | None = None,
    router: Router | None = None,
) -> MoeOutput:
    """A Mixture-of-Experts layer of tokens x [B, S, M], B sequences, or [S, M].

    params, bias, key, mask and token_ids [B, S], and functions expert and router of the user's own: see `route`,
    `apply_experts` and `beside`.
    mask: tokens where it is false are taken as zeros everywhere in the layer, so y there is what is beside the
    experts makes of zeros, and nothing that stands there, NaN neither, reaches a loss or a gradient.
    Groups of `group_size` tokens, or one of all, have a capacity each, whatever the layout.
    TraceError where the size of groups does not divide the number of tokens, or shapes are not those of x and config.
    """
    config = config if router is None else replace(config, own=OwnRouter(router))
    whole = as_value(x, like(x, params))
    *outer, model = whole.shape
    size = _size_of_groups(whole, config)
    check_params(params, config, model, expert is not None)

    def grouped(value: Array | None, *rest: int) -> Array | None:
        return None if value is None else layout.spread(value.reshape(-1, size, *rest))

    ids, real = _of_tokens("token_ids", token_ids, whole), _of_tokens("mask", mask, whole)
    if real is not None:
        whole = of_valid(whole, real.reshape(*outer))
    tokens, ids, valid = grouped(whole, model), grouped(ids), grouped(real)
    chosen = route(tokens, params, config, bias=bias, key=key, mask=valid, token_ids=ids, training=training)
    routing = limit(chosen, config, key)
    buffers = dispatch(tokens, routing, config, layout)
    meanwhile = beside(whole, params, config)  # rows are under way
    buffers = apply_experts(buffers, as_used(params, layout, whole), config, expert)
    y = layout.spread(combine(buffers, routing, config)).astype(whole.dtype)
    y = meanwhile.join(y.reshape(*whole.shape))
    losses = balance_losses(routing, config, math.prod(outer[:-1]), masked=real is not None)
    return MoeOutput(y, losses, _counted(routing, buffers, config))


def _size_of_groups(tokens: Array, config: MoeConfig) -> int:
    """Tokens of each group, of those of [..., M]."""
    count = math.prod(tokens.shape[:-1])
    size = config.group_size or count
    check(size and count % size == 0, f"moe: {count} tokens of {list(tokens.shape)} in groups of {size}")
    return size


def _of_tokens(what: str, given: ArrayLike | None, tokens: Array) -> Array | None:
    """An element for each token."""
    if given is None:
        return None
    value = as_value(given, tokens)
    outer = list(tokens.shape[:-1])
    check(math.prod(value.shape) == math.prod(outer), f"moe: {what} {list(value.shape)} of tokens {outer}")
    return value


def _counted(routing: Routing, buffers: Buffers, config: MoeConfig) -> MoeMetrics:
    found = metrics_of(routing)
    if config.dispatch.rank_factor is not None and isinstance(buffers.source, Exchanged):
        return found._replace(kept=buffers.source.kept()).marked()
    return found


def metrics_of(routing: Routing) -> MoeMetrics:
    """Of a routing with `kept`."""
    counts = routing.counts()
    hot = one_hot(routing.experts, routing.scores.shape[-1])
    kept = sum(hot * routing.kept.astype("float32")[..., None], (0, 1, 2))
    return MoeMetrics(sum(counts, 0), kept, max(counts)).marked()
