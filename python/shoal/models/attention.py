# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of decoders: projections, latent keys, norms.

Letters: B sequences, S and T places, M model size, N heads, K key-value heads, R = N / K, D head.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.arrays import Array, as_value, broadcast_to, clip, concatenate, einsum, log1p, one_kernel, rms_norm
from shoal.frontend.checks import check
from shoal.models.config import Chunk, LatentAttention, ModelConfig, Temperature, Window
from shoal.models.context import attend_over
from shoal.models.documents import WHOLE, Documents
from shoal.models.order import Order
from shoal.models.rope import rotate
from shoal.models.scores import Rule
from shoal.moe.layout import SINGLE, Layout

__all__ = ["attention", "norm"]

Params = Mapping[str, Any]


@one_kernel
def norm(x: Array, scale: Any, config: ModelConfig) -> Array:
    """RMSNorm (arXiv 1910.07467), in float32."""
    made = rms_norm(x.astype("float32"), epsilon=config.rms_norm_eps).astype(x.dtype)
    return made if scale is None else made * as_value(scale, x)


def attention(
    x: Array, params: Params, config: ModelConfig, window: Window, layout: Layout = SINGLE,
    order: Order = None, *, documents: Documents = WHOLE,
) -> Array:  # fmt: skip
    """x [B, S, M] to itself. params: as `shoal.models.shapes` has them; order: of the places; documents: as places
    lie. TraceError for chunks of documents whose positions are their own."""
    positions = order if documents.positions is None else documents.positions
    if isinstance(window, Chunk):
        check(documents.positions is None, f"decode: positions or segments with attention in chunks of {window.size} places")
    if config.latent is None:
        turns = window is not None or not config.rope_in_windows
        q, k, v, scale = _projected(x, params, config, positions, turns)
    else:
        q, k, v, scale = _latent(x, params, config, positions)
    rule = Rule(scale * config.rope.scale, window, params.get("sinks"), order, documents.segments)
    made = attend_over(layout, q, k, v, rule)
    y = einsum("BSND,NDM->BSM", made, as_value(params["wo"], x))
    return y + as_value(params["bo"], x) if config.out_bias else y


def _projected(
    x: Array, params: Params, config: ModelConfig, positions: Order | Array, turns: bool
) -> tuple[Array, Array, Array, float]:
    def heads(name: str) -> Array:
        made = einsum("BSM,MND->BSND", x, as_value(params[f"w{name}"], x))
        made = made + as_value(params[f"b{name}"], x) if config.qkv_bias else made
        if name != "v" and config.qk_norm in ("head", "all"):
            made = _normed(made, params[f"{name}_norm"], config)
        limit = config.clip_qkv
        return made if limit is None else clip(made, -limit, limit)

    q, k, v = (heads(name) for name in "qkv")
    if turns:
        q, k = (_turned(value, config, positions) for value in (q, k))
    elif config.temperature is not None:
        q = _warmed(q, config.temperature, positions)
    return q, k, v, config.head_dim**-0.5


def _turned(heads: Array, config: ModelConfig, positions: Order | Array) -> Array:
    made = rotate(heads, config.rope, config.rope_interleave, positions)
    return norm(made, None, config) if config.qk_norm == "turned" else made


def _warmed(q: Array, temperature: Temperature, positions: Order | Array) -> Array:
    """Queries [B, S, N, D] of positions far from the first are larger."""
    if positions is None:
        positions = np.arange(q.shape[1], dtype=np.int32)
    steps = ((as_value(positions, q) + 1) // temperature.floor).astype("float32")
    factor = 1 + temperature.scale * log1p(steps)
    return (q * factor[..., None, None]).astype(q.dtype)


def _normed(heads: Array, scale: Any, config: ModelConfig) -> Array:
    if config.qk_norm == "head":
        return norm(heads, scale, config)
    *outer, count, size = heads.shape
    return norm(heads.reshape(*outer, count * size), scale, config).reshape(*heads.shape)


def _latent(
    x: Array, params: Params, config: ModelConfig, positions: Order | Array
) -> tuple[Array, Array, Array, float]:
    """Keys and values from one short vector a token, with one turned part for all heads."""
    latent = config.latent
    assert isinstance(latent, LatentAttention)
    short = x
    if latent.q_rank is not None:
        short = norm(x @ as_value(params["wqa"], x), params["q_norm"], config)
    q = einsum("BSM,MND->BSND", short, as_value(params["wq"], x))
    q_nope, q_rope = q[..., : latent.nope], q[..., latent.nope :]
    both = x @ as_value(params["wkva"], x)
    compressed = norm(both[..., : latent.kv_rank], params["kv_norm"], config)
    kv = einsum("BSM,MND->BSND", compressed, as_value(params["wkv"], x))
    k_nope, v = kv[..., : latent.nope], kv[..., latent.nope :]
    turned = both[..., latent.kv_rank :].reshape(*both.shape[:2], 1, latent.rope)
    q_rope, k_rope = (
        rotate(value, config.rope, config.rope_interleave, positions) for value in (q_rope, turned)
    )
    k_rope = broadcast_to(k_rope, (*k_nope.shape[:3], latent.rope))
    q, k = concatenate([q_nope, q_rope], -1), concatenate([k_nope, k_rope], -1)
    return q, k, v, (latent.nope + latent.rope) ** -0.5
