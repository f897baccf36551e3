# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of a decoder: attention, then experts or a dense network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shoal.arrays import Array, ArrayLike, named_scope
from shoal.frontend.buffers import check_declared
from shoal.models.attention import attention, norm
from shoal.models.config import ModelConfig, Window
from shoal.models.documents import WHOLE, Documents
from shoal.models.order import Order
from shoal.moe.experts import feed_forward_of, plain_linear
from shoal.moe.layer import MoeMetrics, moe
from shoal.moe.layout import Layout

__all__ = ["LayerOutput", "apply_layer", "between", "bias_of", "within"]


class LayerOutput(NamedTuple):
    """x like the layer's; losses and metrics of its experts, where it has any."""

    x: Array
    losses: dict[str, Array]
    metrics: MoeMetrics | None


def between(layout: Layout, x: Array) -> Array:
    """[B, S, M] around blocks: where they end in sums over tp, these stay in parts (sequence parallelism)."""
    return layout.constrain(x, "dp", "sp", None)


def within(layout: Layout, x: Array) -> Array:
    """[B, S, M] where each device of tp has the same, for its heads or hidden units."""
    return layout.constrain(x, "dp", "cp", None)


def bias_of(params: Mapping[str, Any]) -> ArrayLike | None:
    """The experts' bias of a layer, which is a buffer; None where it has none."""
    if "expert_bias" not in params:
        return None
    check_declared("an experts' bias")
    return params["expert_bias"]


def apply_layer(
    x: Array, params: Mapping[str, Any], config: ModelConfig, layout: Layout, window: Window,
    order: Order = None, *, key: ArrayLike | None = None, documents: Documents = WHOLE,
) -> LayerOutput:  # fmt: skip
    """x [B, S, M] to itself. window: of attention; order: of the places;
    key: as `moe` has it; documents: of tokens as places lie, of which experts get those that are real."""
    with named_scope("attention"):
        y = within(layout, norm(x, params["input_norm"], config))
        x = x + between(layout, attention(y, params["attention"], config, window, layout, order, documents=documents))
    if "dense" in params:
        with named_scope("dense"):
            y = within(layout, norm(x, params["post_norm"], config))
            y = feed_forward_of(plain_linear, y, params["dense"], config.moe)
            return LayerOutput(x + between(layout, y), {}, None)
    with named_scope("experts"):
        y = norm(x, params["post_norm"], config)
        bias = bias_of(params["moe"])
        made = moe(y, params["moe"], config.moe, layout, bias=bias, key=key, mask=documents.real)
        return LayerOutput(x + between(layout, made.y), made.losses, made.metrics)
