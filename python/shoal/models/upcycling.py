# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A dense decoder's parameters as those of one with experts that computes the same at the beginning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from shoal.errors import TraceError
from shoal.models.config import ModelConfig
from shoal.moe.upcycling import upcycle

__all__ = ["upcycled"]

# What may differ: experts, and what only files have.
_OF_EXPERTS = (
    "family", "moe", "moe_layers", "intermediate_size", "balance_over_layers", "num_nextn_predict_layers",
    "weight_block_size",
)  # fmt: skip


def upcycled(
    params: Mapping[str, Any], dense: ModelConfig, sparse: ModelConfig, seed: int, deviation: float | None
) -> dict[str, Any]:
    """See `shoal.models.upcycle`; of parameters without stages."""
    _check_alike(dense, sparse)
    layers = []
    for number, (layer, has_experts) in enumerate(zip(params["layers"], sparse.moe_layers)):
        made = dict(layer)
        if has_experts:
            made["moe"] = upcycle(made.pop("dense"), sparse.moe, seed + number, deviation)
            if sparse.moe.router.bias_rate is not None:
                made["moe"]["expert_bias"] = np.zeros(sparse.moe.experts.number, np.float32)
        layers.append(made)
    return {**params, "layers": layers}


def _check_alike(dense: ModelConfig, sparse: ModelConfig) -> None:
    if any(dense.moe_layers):
        raise TraceError(f"upcycle: layer {dense.moe_layers.index(True)} of the dense model has experts")
    names = [field.name for field in fields(ModelConfig) if field.name not in _OF_EXPERTS]
    if not all(sparse.moe_layers):
        names.append("intermediate_size")
    pairs = [(name, getattr(dense, name), getattr(sparse, name)) for name in names]
    pairs += [(name, getattr(dense.moe.experts, name), getattr(sparse.moe.experts, name)) for name in ("act", "gated", "clamp")]
    for name, of_dense, of_sparse in pairs:
        if of_dense != of_sparse:
            raise TraceError(f"upcycle: {name} is {of_dense} of the dense model and {of_sparse} of the other")
