# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention of whole sequences. `shoal.models` has that of documents, windows and sequences in parts."""

from __future__ import annotations

import ml_dtypes

from shoal.arrays import Array, ArrayLike, any, as_value, broadcast_to, einsum, iota, like, logical_and, softmax, where
from shoal.frontend.checks import check

__all__ = ["attention", "self_attention"]


def attention(
    q: ArrayLike,
    k: ArrayLike,
    v: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Array:
    """softmax(scale q k) v for q [B, S, N, D] and k, v [B, T, N, D]; gives [B, S, N, D].

    mask: bool, broadcasts to [B, N, S, T]; true where a token may look. What looks nowhere is 0, and keys and
    values that nothing may look at may be NaN.
    causal: token s looks at tokens up to s.
    scale: 1 / sqrt(D) where it is None.
    """
    query, keys, values = (as_value(x, like(q, k, v)) for x in (q, k, v))
    check(query.ndim == 4, f"attention: expected q [B, S, N, D], got {list(query.shape)}")
    shape = (query.shape[0], query.shape[2], query.shape[1], keys.shape[1])
    visible = iota(shape, 3, like=query) <= iota(shape, 2, like=query) if causal else None
    if mask is not None:
        allowed = as_value(mask, query)
        keys, values = (_looked_at(x, allowed) for x in (keys, values))
        allowed = broadcast_to(allowed, shape)
        visible = allowed if visible is None else logical_and(visible, allowed)
    scores = einsum("BSND,BTND->BNST", query, keys)
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    if visible is None:
        return einsum("BNST,BTND->BSND", softmax(scores), values)
    scores = where(visible, scores, float(ml_dtypes.finfo(scores.dtype).min))
    # Of a row that sees nothing the softmax is that of equal scores.
    weights = softmax(scores) if mask is None else where(visible, softmax(scores), 0.0)
    return einsum("BNST,BTND->BSND", weights, values)


def _looked_at(rows: Array, mask: Array) -> Array:
    """rows [B, T, N, D], zeros where no token may look by a mask that broadcasts to [B, N, S, T]."""
    whole = mask.reshape(*[1] * (4 - mask.ndim), *mask.shape)
    columns = any(whole, 2)  # [B, N, T], of which each may be 1
    return where(broadcast_to(columns.swapaxes(1, 2)[..., None], rows.shape), rows, 0.0)


def self_attention(
    x: ArrayLike,
    wq: ArrayLike,
    wk: ArrayLike,
    wv: ArrayLike,
    wo: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    causal: bool = False,
) -> Array:
    """Multi-head attention of x [B, S, M] to itself; wq, wk, wv [M, N, D], wo [N, D, M]. mask, causal: see
    `attention`."""
    q, k, v = (einsum("BSM,MND->BSND", x, weight) for weight in (wq, wk, wv))
    return einsum("BSND,NDM->BSM", attention(q, k, v, mask=mask, causal=causal), wo)
