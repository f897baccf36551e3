# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model multiplies for a token, by which utilisation counts: weights that a token meets, and causal attention."""

from __future__ import annotations

import math
from typing import Any

from shoal.models import parameters
from shoal.models.config import Chunk, ModelConfig, Window
from shoal.planning.mapping import Mapping
from shoal.planning.programs import Kind

__all__ = ["active_weights", "attention_flops", "flops_of_token", "rounded_values", "saved_in_8_bits", "weights_of"]

# Forward once, backward twice.
_PASSES = 3
_EXPERTS = ("wi", "wg", "wo")


def weights_of(tree: Any) -> int:
    """The elements of a tree of shapes."""
    if isinstance(tree, dict):
        return sum(map(weights_of, tree.values()))
    return sum(map(weights_of, tree)) if isinstance(tree, list) else math.prod(tree)


def active_weights(config: ModelConfig) -> int:
    """Those that a token is multiplied by: of the experts those that it goes to; of the embedding the head alone."""
    return config.vocab_size * config.hidden_size + sum(_active_in(config, layer) for layer in parameters.shapes(config)["layers"])


def _active_in(config: ModelConfig, layer: dict[str, Any]) -> int:
    """Of a layer's."""
    moe = config.moe
    total = sum(weights_of(node) for name, node in layer.items() if name != "moe")
    for name, node in layer.get("moe", {}).items():
        of_token = moe.moe_router_topk / moe.num_experts if name in _EXPERTS else 1
        total += int(weights_of(node) * of_token)
    return total


def _scores_of_token(config: ModelConfig, window: Window, sequence: int) -> float:
    """Multiply-adds of scores and weighted sums, of the places that a token sees in the mean."""
    if config.latent is None:
        size = 2 * config.head_dim
    else:
        size = config.latent.nope + config.latent.rope + config.latent.value
    if isinstance(window, Chunk):
        seen = min(window.size, sequence) / 2
    else:
        seen = sequence / 2 if window is None or window >= sequence else window - window * window / (2 * sequence)
    return config.num_attention_heads * size * seen


def flops_of_token(config: ModelConfig, sequence: int, mtp: int = 0) -> float:
    """Of a token, forward and back; what is computed again does not count. mtp: how many further tokens are predicted, each
    by a layer like the last one, a product of twice the model's size and the head."""
    scores = sum(_scores_of_token(config, window, sequence) for window in config.windows)
    further = _active_in(config, parameters.shapes(config)["layers"][-1]) + _scores_of_token(config, config.windows[-1], sequence)
    further += config.hidden_size * (2 * config.hidden_size + config.vocab_size)
    return 2 * _PASSES * (active_weights(config) + scores + mtp * further)


def attention_flops(config: ModelConfig, kind: Kind, mapping: Mapping) -> float:
    """Of scores and weighted sums of a micro-batch, forward, on a device."""
    return 2 * _scores_of_token(config, kind.window, mapping.sequence) * mapping.device_tokens / mapping.tp


def rounded_values(shapes: dict[str, Any], config: ModelConfig, mapping: Mapping) -> float:
    """How many values of a micro-batch a device rounds for products of 8 bits in a layer of these shapes: what weights are
    given, once where several are given the same, and the cotangents of what they make. Rows of experts are balanced."""
    tokens = mapping.device_tokens
    moe = shapes.get("moe", {})
    total = sum(
        tokens * _sides(tree, mapping.tp) for tree in (shapes["attention"], shapes.get("dense", {}), moe.get("shared", {}))
    )
    if moe:
        rows = tokens / mapping.tp * config.moe.moe_router_topk * mapping.etp
        total += rows * _sides({name: moe[name][1:] for name in _EXPERTS if name in moe}, mapping.etp)
    return total


def saved_in_8_bits(shapes: dict[str, Any], config: ModelConfig, mapping: Mapping) -> float:
    """How many values of a micro-batch products of 8 bits save for gradients of weights, which are nowhere else saved: what
    these were given, but for what attention made, and of what is computed again the rows of experts alone."""
    if not mapping.type.startswith("f8") or mapping.recompute == "full":
        return 0.0
    moe, tokens, is_saved = shapes.get("moe", {}), mapping.device_tokens, mapping.recompute == "none"
    # Of sequences in parts a device saves its own.
    parts = mapping.tp if mapping.sequence_parallel and mapping.gathers_again else 1
    total = 0.0
    if is_saved:
        attention = {name: shape for name, shape in shapes["attention"].items() if name != "wo"}
        total += tokens * sum(_given(attention, mapping.tp).values()) / parts
        dense = _given(shapes.get("dense", {}), mapping.tp)
        total += tokens * sum(size / (1 if name == "wo" else parts) for name, size in dense.items())
    if moe:
        rows = tokens / mapping.tp * config.moe.moe_router_topk * mapping.etp
        given = _given({name: moe[name][1:] for name in _EXPERTS if name in moe}, mapping.etp)
        total += rows * sum(size for name, size in given.items() if is_saved or name != "wo")
    return total


def _given(tree: dict[str, Any], parts: int) -> dict[Any, float]:
    """Of a row, what weights are given, once where several are given the same: by its size, of the last one by name."""
    shapes = {name: shape for name, shape in tree.items() if name.startswith("w") and len(shape) > 1}
    return {
        name if name == "wo" else shape[0]: math.prod(shape[:-1]) / parts if name == "wo" else shape[0]
        for name, shape in shapes.items()
    }


def _sides(tree: dict[str, Any], parts: int) -> float:
    """Of a row, what weights are given and what they make. Of the last one what it is given is in so many parts, of others
    what they make."""
    shapes = {name: shape for name, shape in tree.items() if name.startswith("w") and len(shape) > 1}
    made = sum(shape[-1] if name == "wo" else math.prod(shape[1:]) / parts for name, shape in shapes.items())
    return sum(_given(tree, parts).values()) + made
