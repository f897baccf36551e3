# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of a decoder: attention, then experts or a dense network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shoal.frontend.core import ArrayLike
from shoal.frontend.value import Value
from shoal.models.attention import attention, norm
from shoal.models.config import ModelConfig
from shoal.moe.experts import feed_forward_of, plain_linear
from shoal.moe.layer import MoeMetrics, moe
from shoal.moe.layout import Layout

__all__ = ["LayerOutput", "apply_layer"]


class LayerOutput(NamedTuple):
    """x like the layer's; losses and metrics of its experts, where it has any."""

    x: Value
    losses: dict[str, Value]
    metrics: MoeMetrics | None


def apply_layer(
    x: Value, params: Mapping[str, Any], config: ModelConfig, layout: Layout, window: int | None, *,
    key: ArrayLike | None = None, mask: ArrayLike | None = None,
) -> LayerOutput:  # fmt: skip
    """x [B, S, M] to itself. window: to how many tokens attention looks back; key, mask: as `moe` has them."""
    y = norm(x, params["input_norm"], config)
    y = attention(y, params["attention"], config, window)
    x = layout.spread(x + y, "outside")
    y = norm(x, params["post_norm"], config)
    if "dense" in params:
        y = feed_forward_of(plain_linear, y, params["dense"], config.moe.replace(add_bias_linear=False))
        return LayerOutput(layout.spread(x + y, "outside"), {}, None)
    bias = params["moe"].get("expert_bias")
    made = moe(y, params["moe"], config.moe, layout, bias=bias, key=key, mask=mask)
    return LayerOutput(layout.spread(x + made.y, "outside"), made.losses, made.metrics)
