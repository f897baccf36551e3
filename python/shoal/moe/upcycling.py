# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A dense network's parameters as those of experts that compute the same at the beginning.

Sparse upcycling (arXiv 2212.05055); finer experts by virtual groups (arXiv 2410.07524, Megatron-Core).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.errors import TraceError
from shoal.moe.config import MoeConfig
from shoal.moe.parameters import param_shapes

__all__ = ["upcycle"]

# Which dimension of a dense parameter is the hidden one; None: each expert has all of it.
_HIDDEN = {"wi": 1, "wg": 1, "wo": 0, "bi": 0, "bg": 0, "bo": None}


def upcycle(
    dense: Mapping[str, np.ndarray], config: MoeConfig, seed: int = 0, deviation: float = 0.02
) -> dict[str, Any]:
    """The parameters of a layer that begins as the dense network {"wi": [M, H], "wo": [H, M], ...}.

    The experts' hidden size divides H by the granularity g, and g divides their number: expert e has
    part e % g of the hidden units, and row e // g of a new router, drawn by `seed`. The g experts of a
    row score alike, so that with k a multiple of g whole networks are chosen: equal scores go to
    smaller numbers. "wo" takes the scale that the weights leave out, g where they are of sum 1, which is
    exact for any activation; else g E / k, exact where the router is uniform. Biases behind are of g parts.
    What is beside the experts is not made.

    TraceError where the sizes do not divide, parameters are not those of the experts, or the router does not
    choose by scores alone.
    """
    _check_dense(dense, config)
    g = _granularity(dense, config)
    experts, k = config.num_experts, config.moe_router_topk
    scale = g if _sums_to_one(config) else g * experts / k
    parts: dict[str, Any] = {}
    for name, array in dense.items():
        scaled = np.asarray(array) * np.float32({"wo": scale, "bo": scale / g}.get(name, 1.0))
        dim = _HIDDEN[name]
        pieces = [scaled] * g if dim is None else np.split(scaled, g, dim)
        parts[name] = np.stack(list(pieces) * (experts // g)).astype(np.asarray(array).dtype)
    rows = np.random.default_rng(seed).standard_normal((dense["wi"].shape[0], experts // g)) * deviation
    parts["router"] = np.repeat(rows.astype(np.float32), g, axis=1)
    if config.add_router_bias:
        parts["router_bias"] = np.zeros(experts, np.float32)
    return parts


def _check_dense(dense: Mapping[str, np.ndarray], config: MoeConfig) -> None:
    expected = sorted(name for name in param_shapes(config, 1) if name in _HIDDEN)
    if sorted(dense) != expected:
        raise TraceError(f"upcycle: parameters {sorted(dense)}: the experts of this configuration have {expected}")
    model, hidden = dense["wi"].shape
    for name, (_, *shape) in param_shapes(config.replace(moe_ffn_hidden_size=hidden), model).items():
        if name in dense and list(dense[name].shape) != shape:
            raise TraceError(
                f'upcycle: "{name}" {list(dense[name].shape)}: expected {shape}, as "wi" is {[model, hidden]}'
            )


def _granularity(dense: Mapping[str, np.ndarray], config: MoeConfig) -> int:
    hidden, of_expert = dense["wi"].shape[1], config.moe_ffn_hidden_size
    g = hidden // of_expert
    if hidden % of_expert or config.num_experts % g or config.moe_router_topk % g:
        raise TraceError(
            f"upcycle: {hidden} hidden units over experts of {of_expert}: expected parts that divide "
            f"num_experts={config.num_experts} and moe_router_topk={config.moe_router_topk}"
        )
    if config.router_type != "topk" or config.moe_router_num_groups is not None:
        raise TraceError("upcycle: the router must choose by scores alone, without groups")
    return g


def _sums_to_one(config: MoeConfig) -> bool:
    late = config.moe_router_score_function == "softmax" and not config.moe_router_pre_softmax
    return late or config.normalizes()
