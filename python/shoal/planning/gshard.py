# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GShard's layer of experts as it was published and run (arXiv 2006.16668, algorithm 2): each choice is a mask [G, S, E], and
arrays of that size are multiplied and summed one by one. `shoal.moe` has the same results of numbers of experts, which
takes less; a table of published times needs what was timed.

Letters: G groups, S tokens of a group, E experts, C rows of an expert in a group, M model size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.frontend.contraction import einsum
from shoal.frontend.naming import named_scope
from shoal.frontend.value import Value
from shoal.arrays import argmax, as_value, cumsum, mean, one_hot, relu, softmax, sum
from shoal.models.attention import attention, norm
from shoal.models.config import ModelConfig, Window
from shoal.models.layer import between, within
from shoal.moe.buffers import to_experts
from shoal.moe.layout import Layout

__all__ = ["gshard_layer"]


def gshard_layer(
    x: Value, params: Mapping[str, Any], config: ModelConfig, layout: Layout, window: Window
) -> tuple[Value, Value]:
    """x [B, L, M] to itself: attention, and behind it experts. The second one is the loss that balances these, a scalar."""
    with named_scope("attention"):
        y = within(layout, norm(x, params["input_norm"], config))
        x = x + between(layout, attention(y, params["attention"], config, window, layout))
    with named_scope("experts"):
        y = norm(x, params["post_norm"], config)
        made, loss = _experts(y, params["moe"], config, layout)
        return x + between(layout, made), loss


def _experts(x: Value, params: Mapping[str, Any], config: ModelConfig, layout: Layout) -> tuple[Value, Value]:
    size = config.moe.group_size
    tokens = layout.spread(x.reshape(-1, size, x.shape[-1]))
    gates = softmax(einsum("GSM,ME->GSE", tokens, as_value(params["router"], tokens)), -1)
    mask, send, loss = _masks(gates, config.moe.rows(size))
    rows = to_experts(einsum("GSEC,GSM->EGCM", send, tokens), layout, 1)
    hidden = relu(einsum("EGCM,EMH->EGCH", rows, as_value(params["wi"], rows)))
    made = einsum("EGCH,EHM->EGCM", hidden, as_value(params["wo"], rows))
    home = layout.constrain(made, None, "tokens", None, None)
    return layout.spread(einsum("GSEC,EGCM->GSM", mask, home)).reshape(*x.shape), loss


def _masks(gates: Value, room: int) -> tuple[Value, Value, Value]:
    """[G, S, E, C]: weights of choices at the rows that they have, and ones there; and the loss."""
    experts = gates.shape[-1]
    first = one_hot(argmax(gates, -1), experts)
    second = one_hot(argmax(gates * (1 - first), -1), experts)
    loss = mean(mean(first, 1) * mean(gates, 1))
    weights = [sum(gates * mask, -1) for mask in (first, second)]
    whole = weights[0] + weights[1] + 1e-9
    taken = None
    parts = []
    for mask, weight in zip((first, second), weights):
        place = cumsum(mask, 1) - mask
        if taken is not None:
            place = place + taken
        mask = mask * (place < room).astype("float32")
        taken = sum(mask, 1, keepdims=True)
        rows = one_hot(sum(place * mask, -1).astype("int32"), room)
        kept = (weight / whole * sum(mask, -1))[..., None] * mask
        parts.append(einsum("GSE,GSC->GSEC", kept, rows))
    combine = parts[0] + parts[1]
    return combine, (combine > 0).astype("float32"), loss
