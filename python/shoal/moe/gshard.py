# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GShard's layer in one function, and what stands beside it in a Transformer.

Letters: G groups, S tokens of a group, M model size, E experts, C capacity of an
expert's buffer in a group, H hidden size; B batch, T tokens, N heads, D head size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import ml_dtypes

from shoal.arrays import (
    Array, ArrayLike, P, any, as_value, broadcast_to, constrain, einsum, iota, like, logical_and, matmul, one_hot,
    relu, softmax, sum, top_k, where,
)  # fmt: skip
from shoal.frontend import dtypes
from shoal.frontend.checks import check
from shoal.frontend.core import current
from shoal.frontend.nn import top_k_gating

__all__ = ["GShardOutput", "attention", "feed_forward", "moe_layer", "self_attention"]

Activation = Callable[["Array"], "Array"]
Axes = str | Sequence[str]


class GShardOutput(NamedTuple):
    """What `moe_layer` gives.

    y [G, S, M]; zero for tokens that no expert had room for: add the input to it.
    aux: the auxiliary loss that balances the experts, a scalar.
    routed [G, E]: how many choices of each expert there were, float32 or wider.
    kept [G, E]: how many of these found room, so, too.
    """

    y: Array
    aux: Array
    routed: Array
    kept: Array


def moe_layer(
    x: ArrayLike,
    router: ArrayLike,
    wi: ArrayLike,
    wo: ArrayLike,
    *,
    k: int = 2,
    capacity: int | None = None,
    capacity_factor: float | None = None,
    key: ArrayLike | None = None,
    activation: Activation = relu,
    axes: Axes | None = None,
) -> GShardOutput:
    """GShard's Mixture-of-Experts layer, Algorithm 2 of the paper (arXiv 2006.16668).

    x [G, S, M] tokens, router [M, E] of the router, wi [E, M, H] and wo [E, H, M] of
    the experts. k, capacity, capacity_factor and key: see `shoal.top_k_gating`.

    axes: the mesh axes that groups are spread over and, between dispatch and
    combine, experts; all of the mesh where it is None. The two changes become
    all-to-alls. Without a mesh nothing is annotated.
    """
    tokens = as_value(x)
    experts = _check_sizes(tokens, *map(as_value, (router, wi, wo)))
    tokens = _spread(tokens, axes)
    gates = softmax(einsum("GSM,ME->GSE", tokens, router))
    combine, dispatch, aux = top_k_gating(
        gates, k, capacity=capacity, capacity_factor=capacity_factor, key=key
    )
    # Each expert's tokens from all groups, and back to their groups.
    sent = _spread(einsum("GSEC,GSM->EGCM", dispatch, tokens), axes)
    hidden = activation(einsum("EGCM,EMH->EGCH", sent, wi))
    made = _spread(einsum("EGCH,EHM->GECM", hidden, wo), axes)
    y = einsum("GSEC,GECM->GSM", combine, made)
    counted = dtypes.of_sums(gates.dtype)
    routed = sum(one_hot(top_k(gates, k)[1], experts, counted), (1, 2))
    return GShardOutput(y, aux, routed, sum(dispatch.astype(counted), (1, 3)))


def _check_sizes(x: Array, router: Array, wi: Array, wo: Array) -> int:
    """The number of experts."""
    shapes = f"x {list(x.shape)}, router {list(router.shape)}, wi {list(wi.shape)}, wo {list(wo.shape)}"
    check(
        (x.ndim, router.ndim, wi.ndim, wo.ndim) == (3, 2, 3, 3)
        and router.shape[0] == x.shape[2]
        and wi.shape[:2] == router.shape[::-1]
        and wo.shape == (wi.shape[0], wi.shape[2], x.shape[2]),
        f"moe_layer: expected x [G, S, M], router [M, E], wi [E, M, H], wo [E, H, M], got {shapes}",
    )
    return router.shape[1]


def _spread(value: Array, axes: Axes | None) -> Array:
    """The first dimension over the axes; the others as is best."""
    mesh = current("moe_layer").mesh
    if mesh is None:
        return value
    chosen = tuple(mesh.axes) if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    return constrain(value, P(chosen, *["?"] * (value.ndim - 1)), mesh)


def feed_forward(
    x: ArrayLike,
    wi: ArrayLike,
    wo: ArrayLike,
    *,
    gate: ArrayLike | None = None,
    activation: Activation = relu,
) -> Array:
    """activation(x wi) wo for x [..., M], wi [M, H], wo [H, M].

    gate [M, H]: activation(x gate) * (x wi) is the hidden layer instead.
    """
    hidden = matmul(x, wi)
    hidden = activation(hidden) if gate is None else activation(matmul(x, gate)) * hidden
    return matmul(hidden, wo)


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
