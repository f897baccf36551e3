# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of decoders: grouped queries, latent keys, windows, sinks, norms.

Letters: B sequences, S and T places, M model size, N heads, K key-value heads, R = N / K, D head.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.frontend.constants import as_value
from shoal.frontend.contraction import einsum
from shoal.frontend.elementwise import clip, logical_and, where
from shoal.frontend.nn import rms_norm, softmax
from shoal.frontend.structure import broadcast_to, concatenate, iota
from shoal.frontend.value import Value
from shoal.models.config import LatentAttention, ModelConfig
from shoal.models.rope import rotate

__all__ = ["attend", "attention", "norm"]

Params = Mapping[str, Any]


def attend(
    q: Value, k: Value, v: Value, scale: float, window: int | None = None, sinks: Any = None
) -> Value:
    """Causal softmax(scale q k) v: q [B, S, N, D], k [B, S, K, D], v [B, S, K, H]; [B, S, N, H].

    Head n reads key-value head n // (N / K), and nothing is repeated. Softmax is float32.
    window: a place looks at so many up to its own. sinks [N]: a further score of each head, which
    takes its part of the softmax and gives nothing (arXiv 2309.17453; gpt-oss).
    """
    batch, length, heads, size = q.shape
    shared = heads // k.shape[2]
    grouped = q.reshape(batch, length, k.shape[2], shared, size)
    scores = einsum("BSKRD,BTKD->BKRST", grouped, k, dtype="float32") * scale
    row, column = iota((length, length), 0), iota((length, length), 1)
    seen = column <= row
    if window is not None:
        seen = logical_and(seen, row - column < window)
    scores = where(broadcast_to(seen, scores.shape), scores, -1e30)
    if sinks is not None:
        further = as_value(sinks).astype("float32").reshape(1, k.shape[2], shared, 1, 1)
        scores = concatenate([scores, broadcast_to(further, (*scores.shape[:-1], 1))], -1)
    weights = softmax(scores)[..., :length].astype(v.dtype)
    made = einsum("BKRST,BTKH->BSKRH", weights, v)
    return made.reshape(batch, length, heads, v.shape[3])


def norm(x: Value, scale: Any, config: ModelConfig) -> Value:
    """RMSNorm (arXiv 1910.07467), in float32."""
    made = rms_norm(x.astype("float32"), epsilon=config.rms_norm_eps)
    return made.astype(x.dtype) * as_value(scale)


def attention(x: Value, params: Params, config: ModelConfig, window: int | None) -> Value:
    """x [B, S, M] to itself. params: as `shoal.models.shapes` has them."""
    if config.latent is not None:
        q, k, v, scale = _latent(x, params, config, config.latent)
    else:
        q, k, v, scale = _projected(x, params, config)
    made = attend(q, k, v, scale * config.rope.scale, window, params.get("sinks"))
    y = einsum("BSND,NDM->BSM", made, as_value(params["wo"]))
    return y + as_value(params["bo"]) if config.out_bias else y


def _projected(x: Value, params: Params, config: ModelConfig) -> tuple[Value, Value, Value, float]:
    def heads(name: str) -> Value:
        made = einsum("BSM,MND->BSND", x, as_value(params[f"w{name}"]))
        made = made + as_value(params[f"b{name}"]) if config.qkv_bias else made
        if name != "v" and config.qk_norm is not None:
            made = _normed(made, params[f"{name}_norm"], config)
        limit = config.clip_qkv
        return made if limit is None else clip(made, -limit, limit)

    q, k, v = (heads(name) for name in "qkv")
    q, k = (rotate(value, config.rope, config.rope_interleave) for value in (q, k))
    return q, k, v, config.head_dim**-0.5


def _normed(heads: Value, scale: Any, config: ModelConfig) -> Value:
    if config.qk_norm == "head":
        return norm(heads, scale, config)
    *outer, count, size = heads.shape
    return norm(heads.reshape(*outer, count * size), scale, config).reshape(*heads.shape)


def _latent(
    x: Value, params: Params, config: ModelConfig, latent: LatentAttention
) -> tuple[Value, Value, Value, float]:
    """Keys and values from one short vector a token, with one turned part for all heads."""
    short = x
    if latent.q_rank is not None:
        short = norm(x @ as_value(params["wqa"]), params["q_norm"], config)
    q = einsum("BSM,MND->BSND", short, as_value(params["wq"]))
    q_nope, q_rope = q[..., : latent.nope], q[..., latent.nope :]
    both = x @ as_value(params["wkva"])
    compressed = norm(both[..., : latent.kv_rank], params["kv_norm"], config)
    kv = einsum("BSM,MND->BSND", compressed, as_value(params["wkv"]))
    k_nope, v = kv[..., : latent.nope], kv[..., latent.nope :]
    turned = both[..., latent.kv_rank :].reshape(*both.shape[:2], 1, latent.rope)
    q_rope, k_rope = (rotate(value, config.rope, config.rope_interleave) for value in (q_rope, turned))
    k_rope = broadcast_to(k_rope, (*k_nope.shape[:3], latent.rope))
    q, k = concatenate([q_nope, q_rope], -1), concatenate([k_nope, k_rope], -1)
    return q, k, v, (latent.nope + latent.rope) ** -0.5
