# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The experts' biases of a model, as a training step moves them (`update_expert_bias`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.arrays import Array, as_value
from shoal.errors import TraceError
from shoal.frontend.buffers import Buffers
from shoal.moe.config import MoeConfig
from shoal.moe.losses import update_expert_bias
from shoal.moe.parameters import buffer_mask

__all__ = ["expert_biases"]

Tree = Any


def expert_biases(config: MoeConfig | None, parts: Sequence[str]) -> Buffers:
    """Of parameters whose `parts` are lists of layers, in the order of the rows of the metric "counts" [L, E].

    Of the part "stages" a layer's bias is [V, p, E], and rows are those of stages, turn by turn.
    """

    def update(params: Tree, metrics: Mapping[str, Any]) -> Tree:
        if config is None or config.router.bias_rate is None:
            return params
        if "counts" not in metrics:
            raise TraceError('step: experts\' biases move by the metric "counts", which the loss does not return')
        rows = as_value(metrics["counts"])
        made = dict(params)
        for part in filter(params.__contains__, parts):
            moved = _moved_stages if part == "stages" else _moved
            made[part], rows = moved(params[part], rows, config)
        return made

    return Buffers(buffer_mask, update)


def _moved(layers: Sequence[Tree], rows: Array, config: MoeConfig) -> tuple[list[Tree], Array]:
    """The layers with their next biases, by the first rows; and the rows that are left."""
    count = sum("moe" in layer for layer in layers)
    return _next(layers, [rows[i] for i in range(count)], config), rows[count:]


def _moved_stages(layers: Sequence[Tree], rows: Array, config: MoeConfig) -> tuple[list[Tree], Array]:
    """The same of a stage's layers, each of which is one of every stage."""
    with_experts = [layer for layer in layers if "moe" in layer]
    if not with_experts:
        return list(layers), rows
    turns, devices, experts = as_value(with_experts[0]["moe"]["expert_bias"]).shape
    count = turns * devices * len(with_experts)
    grid = rows[:count].reshape(turns, devices, len(with_experts), experts)
    return _next(layers, [grid[:, :, i] for i in range(len(with_experts))], config), rows[count:]


def _next(layers: Sequence[Tree], counts: Sequence[Array], config: MoeConfig) -> list[Tree]:
    left = iter(counts)
    return [_with_next(layer, next(left), config) if "moe" in layer else layer for layer in layers]


def _with_next(layer: Mapping[str, Any], counts: Array, config: MoeConfig) -> dict[str, Any]:
    moe = layer["moe"]
    return {**layer, "moe": {**moe, "expert_bias": update_expert_bias(moe["expert_bias"], counts, config)}}
