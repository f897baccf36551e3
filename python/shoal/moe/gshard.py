# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GShard's layer in one function: `moe` with a configuration that it has no name for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from shoal.arrays import Array, ArrayLike, P, as_value, like, mesh_around, relu
from shoal.errors import TraceError
from shoal.frontend.checks import check
from shoal.layers.dense import Activation
from shoal.moe.config import MoeConfig
from shoal.moe.experts import Linear
from shoal.moe.layer import moe
from shoal.moe.layout import SINGLE, Layout

__all__ = ["GShardOutput", "moe_layer"]

Axes = str | Sequence[str]


class GShardOutput(NamedTuple):
    """What `moe_layer` gives.

    y [G, S, M]; zero for tokens that no expert had room for: add the input to it. aux: the auxiliary loss that balances
    the experts, a scalar. routed, kept [E] float32: how many choices of each expert there were, and found room.
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
    """GShard's Mixture-of-Experts layer, Algorithm 2 of the paper (arXiv 2006.16668), as `MoeConfig.gshard` says it.

    x [G, S, M] tokens, router [M, E] of the router, wi [E, M, H] and wo [E, H, M] of the experts. An expert has
    `capacity` rows in each group, or max(4, ceil(capacity_factor * k * S / E)). With a key choices after the first are
    dropped at random. activation: of zeros it is zero.

    axes: the mesh axes that groups are spread over and, between dispatch and combine, experts; all of the mesh where
    it is None. The two changes become all-to-alls. Without a mesh, of `shoal.jit` or of `jax.set_mesh`, nothing is
    annotated.
    """
    tokens, *weights = (as_value(value, like(x, router, wi, wo)) for value in (x, router, wi, wo))
    check((tokens.ndim, weights[1].ndim) == (3, 3), f"moe_layer: expected x [G, S, M] and wi [E, M, H], got {list(tokens.shape)}")
    config = _config(tokens, weights[1].shape, k, capacity, capacity_factor)

    def expert(linear: Linear, rows: Array, params: Mapping[str, Any], config: MoeConfig) -> Array:
        return linear(activation(linear(rows, params["wi"], None)), params["wo"], None)

    params = dict(zip(("router", "wi", "wo"), weights))
    out = moe(tokens, params, config, _layout(tokens, axes), key=key, expert=expert)
    return GShardOutput(out.y, out.losses["gshard"], out.metrics.counts, out.metrics.kept)


def _config(x: Array, shape: tuple[int, ...], k: int, capacity: int | None, factor: float | None) -> MoeConfig:
    """Of tokens, and of the experts' first matrix."""
    tokens, (experts, _, hidden) = x.shape[1], shape
    if (capacity is None) == (factor is None):
        raise TraceError("moe_layer: expected one of capacity and capacity_factor")
    check(capacity is None or capacity > 0, f"moe_layer: capacity {capacity} is not positive")
    least = 4
    if capacity is not None:  # half a row less, which is rounded up
        factor, least = (capacity - 0.5) * experts / (k * tokens), 1
    return MoeConfig.gshard(
        experts, hidden, moe_router_topk=k, second_policy="random" if k > 1 else "all", min_capacity=least,
        moe_expert_capacity_factor=factor, moe_group_size=tokens, moe_token_dispatcher_type="sort",
        moe_router_dtype="fp64" if x.dtype == "float64" else "fp32",
    )  # fmt: skip


class _Open(Layout):
    """What no role is named for lies as is best: GShard's annotations are of one dimension."""

    def P(self, *entries: Any) -> P:  # noqa: N802
        return super().P(*(entry or "?" for entry in entries))


def _layout(tokens: Array, axes: Axes | None) -> Layout:
    mesh = mesh_around(tokens)
    if mesh is None:
        return SINGLE
    chosen = tuple(mesh.axes) if axes is None else (axes,) if isinstance(axes, str) else tuple(axes)
    return _Open(mesh, {"dp": chosen, "ep": chosen})
