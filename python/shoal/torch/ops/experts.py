# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts as one op, by the dispatchers of `shoal.moe`: rows to their experts' devices and back."""

from __future__ import annotations

from typing import Any

from shoal.frontend import creation, dtypes, elementwise, structure
from shoal.frontend.value import Value
from shoal.moe import Layout, MoeConfig
from shoal.moe.dispatching import combine, dispatch
from shoal.moe.experts import apply_experts
from shoal.moe.limiting import limit as limited
from shoal.moe.parameters import as_used
from shoal.moe.routing import Routing
from shoal.torch.op import Op
from shoal.torch.refusals import Unsupported
from shoal.torch.registry import imports


@imports("shoal.experts.default")
def experts(op: Op, x: Value, index: Value, weights: Value, up: Value, down: Value, up_bias: Value | None = None,
            down_bias: Value | None = None, activation: str = "silu", is_gated: bool = True, is_interleaved: bool = False,
            is_transposed: bool = False, limit: float | None = None, alpha: float = 1.702) -> Value:  # fmt: skip
    """Tokens [T, M] to the experts index [T, k], weighed by weights [T, k]; matrices of all experts."""
    params = _matrices(up, down, up_bias, down_bias, is_gated, is_interleaved, is_transposed)
    clamped = {} if limit is None else {"swiglu_limit": limit, "swiglu_alpha": alpha}
    config = MoeConfig.flat(
        num_experts=up.shape[0], moe_ffn_hidden_size=params["wo"].shape[1], moe_router_topk=index.shape[-1], hidden_act=activation,
        gated_linear_unit=is_gated, add_bias_linear=up_bias is not None,
        moe_expert_capacity_factor=op.settings.capacity_factor, **clamped,
    )  # fmt: skip
    layout = op.settings.layout or Layout()
    tokens = layout.spread(x.reshape(1, *x.shape))
    routing = limited(_routing(index, weights, up.shape[0]), config)
    buffers = apply_experts(dispatch(tokens, routing, config, layout), as_used(params, layout), config)
    y = layout.spread(combine(buffers, routing, config))
    return op.value(y.reshape(x.shape))


def _routing(index: Value, weights: Value, count: int) -> Routing:
    """Of choices that the program has made. Scores and logits are for losses, of which the op has none."""
    tokens, k = index.shape
    nothing = creation.zeros((1, tokens, count))
    chosen = elementwise.astype(index, dtypes.INT32).reshape(1, tokens, k)
    wide = elementwise.astype(weights, dtypes.of_sums(weights.dtype)).reshape(1, tokens, k)
    return Routing(chosen, wide, nothing, nothing, creation.ones((1, tokens)))


def _matrices(up: Value, down: Value, up_bias: Value | None, down_bias: Value | None, is_gated: bool, is_interleaved: bool,
              is_transposed: bool) -> dict[str, Any]:  # fmt: skip
    """As `shoal.moe` has them: "wi" and "wg" [E, M, H], "wo" [E, H, M], biases "bi", "bg", "bo"."""
    into, out = (matrix if is_transposed else structure.swapaxes(matrix, 1, 2) for matrix in (up, down))
    params = {"wi": into, "wo": out}
    if up_bias is not None:
        params |= {"bi": up_bias, "bo": down_bias}
    if not is_gated:
        return params
    for name, gate in (("wi", "wg"), ("bi", "bg")):
        if name in params:
            params[gate], params[name] = _halves(params[name], is_interleaved)
    return params


def _halves(value: Value, is_interleaved: bool) -> tuple[Value, Value]:
    """Of the last dimension: one element in two, or the first half and the second."""
    size = value.shape[-1]
    if size % 2:
        raise Unsupported(f"a gate and what it is for in {size} columns, which are no two halves")
    if is_interleaved:
        return value[..., ::2], value[..., 1::2]
    return value[..., : size // 2], value[..., size // 2 :]
