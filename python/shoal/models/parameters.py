# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of a decoder: shapes, beginnings, shardings. Heads have dimensions of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.frontend.annotations import P
from shoal.models.config import ModelConfig
from shoal.moe.config import MoeConfig
from shoal.moe.layout import Layout
from shoal.moe.parameters import param_shapes, param_shardings, start_of

__all__ = ["expert_shapes", "init", "shapes", "shardings", "shardings_of"]



def shapes(config: ModelConfig) -> dict[str, Any]:
    """{name: shape}: "embed" [V, M], "layers" a list, "norm" [M], and "head" [V, M] where not tied."""
    model = config.hidden_size
    tree: dict[str, Any] = {"embed": (config.vocab_size, model), "norm": (model,)}
    if not config.tie_word_embeddings:
        tree["head"] = (config.vocab_size, model)
    tree["layers"] = [_layer(config, has_experts) for has_experts in config.moe_layers]
    return tree


def _layer(config: ModelConfig, has_experts: bool) -> dict[str, Any]:
    model, hidden = config.hidden_size, config.intermediate_size
    dense = {"wi": (model, hidden), "wg": (model, hidden), "wo": (hidden, model)}
    return {
        "input_norm": (model,),
        "attention": _latent(config) if config.latent is not None else _projections(config),
        "post_norm": (model,),
        **({"moe": expert_shapes(config.moe, model)} if has_experts else {"dense": dense}),
    }


def expert_shapes(moe: MoeConfig, model: int) -> dict[str, Any]:
    """`param_shapes` with "expert_bias" [E], where there is one."""
    made = param_shapes(moe, model)
    if moe.router.bias_rate is not None:
        made["expert_bias"] = (moe.experts.number,)
    return made


def _projections(config: ModelConfig) -> dict[str, Any]:
    model, size = config.hidden_size, config.head_dim
    heads, shared = config.num_attention_heads, config.num_key_value_heads
    made = {
        "wq": (model, heads, size), "wk": (model, shared, size), "wv": (model, shared, size),
        "wo": (heads, size, model),
    }  # fmt: skip
    if config.qkv_bias:
        made |= {"bq": (heads, size), "bk": (shared, size), "bv": (shared, size)}
    if config.out_bias:
        made["bo"] = (model,)
    if config.qk_norm in ("head", "all"):
        of_all = config.qk_norm == "all"
        made |= {"q_norm": (heads * size if of_all else size,), "k_norm": (shared * size if of_all else size,)}
    if config.sinks:
        made["sinks"] = (heads,)
    return made


def _latent(config: ModelConfig) -> dict[str, Any]:
    latent, model, heads = config.latent, config.hidden_size, config.num_attention_heads
    assert latent is not None
    made: dict[str, Any] = {
        "wq": (latent.q_rank or model, heads, latent.nope + latent.rope),
        "wkva": (model, latent.kv_rank + latent.rope),
        "kv_norm": (latent.kv_rank,),
        "wkv": (latent.kv_rank, heads, latent.nope + latent.value),
        "wo": (heads, latent.value, model),
    }
    if latent.q_rank is not None:
        made |= {"wqa": (model, latent.q_rank), "q_norm": (latent.q_rank,)}
    return made


def init(config: ModelConfig, seed: int = 0, deviation: float = 0.02) -> dict[str, Any]:
    """Normal numbers of NumPy, float32; norms are 1 and biases 0. The same for every layout."""
    rng = np.random.default_rng(seed)

    def made(name: str, node: Any) -> Any:
        if isinstance(node, dict):
            return {key: made(key, node[key]) for key in sorted(node)}
        if isinstance(node, list):
            return [made(name, part) for part in node]
        start = start_of(name)
        if start is not None:
            return np.full(node, start, np.float32)
        return (rng.standard_normal(node) * deviation).astype(np.float32)

    return made("", shapes(config))


# Heads over tp, hidden units of dense networks, too.
_ATTENTION: dict[str, Any] = {
    "wq": (None, "tp", None), "wk": (None, "tp", None), "wv": (None, "tp", None), "wkv": (None, "tp", None),
    "wo": ("tp", None, None), "bq": ("tp", None), "bk": ("tp", None), "bv": ("tp", None), "sinks": ("tp",),
}  # fmt: skip
_DENSE: dict[str, Any] = {"wi": (None, "tp"), "wg": (None, "tp"), "wo": ("tp", None)}


def shardings(config: ModelConfig, layout: Layout) -> dict[str, Any]:
    """Where a layout stores the parameters: a tree of P like `shapes`."""
    return shardings_of(shapes(config), config.moe, layout)


def shardings_of(tree: dict[str, Any], moe: MoeConfig | None, layout: Layout) -> dict[str, Any]:
    """Of a tree of shapes, whose parts have the names that `shapes` gives them; "cross" is attention, too."""

    def placed(name: str, node: Any, table: dict[str, Any]) -> Any:
        if name == "moe" and moe is not None:
            return {**param_shardings(moe, layout), **({"expert_bias": P()} if "expert_bias" in node else {})}
        if isinstance(node, dict):
            table = {"attention": _ATTENTION, "cross": _ATTENTION, "dense": _DENSE}.get(name, table)
            return {key: placed(key, part, table) for key, part in node.items()}
        if isinstance(node, list):
            return [placed(name, part, table) for part in node]
        return layout.P(*table.get(name, ()))

    return placed("", tree, {"embed": ("tp", None), "head": ("tp", None)})
