# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Experts, and feed-forward networks beside them, as functions of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from shoal.arrays import (
    Array, ArrayLike, as_value, clip, einsum, gelu, minimum, one_kernel, relu, sigmoid, silu, softmax,
)  # fmt: skip
from shoal.frontend.checks import check
from shoal.moe.buffers import Buffers
from shoal.moe.config import MoeConfig
from shoal.moe.parts import Residual

__all__ = ["apply_experts", "beside", "feed_forward_of"]

Params = Mapping[str, Any]
# (rows, weights, bias or None) to rows times each one's expert's matrix.
Linear = Callable[[Array, ArrayLike, Any], Array]
# (linear, rows, parameters, configuration) to rows: an expert of the user's own.
Expert = Callable[[Linear, Array, Params, MoeConfig], Array]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "gelu": gelu,
    "gelu_tanh": lambda x: gelu(x, approximate=True),
    "relu": relu,
    "silu": silu,
}


def apply_experts(
    buffers: Buffers, params: Params, config: MoeConfig, function: Expert | None = None
) -> Buffers:
    """The buffers with what their experts make of each row.

    params: "wi" [E, M, H], "wo" [E, H, M]; of gated ones "wg" [E, M, H]; with
      biases "bi", "bg" [E, H] and "bo" [E, M].
    function: in place of `feed_forward_of`. `linear(rows, weights, bias)`, which it gets first,
      multiplies each row with its expert's matrix, however the rows lie; what it makes of a row
      of zeros must be zero, or not be read. TraceError where its rows are not of the size of those that it got.
    """
    linear = buffers.source.linear
    if function is None:
        return buffers.map(lambda rows: feed_forward_of(linear, rows, params, config))

    def applied(rows: Array) -> Array:
        given = buffers.source.for_any(rows)
        made = function(linear, given, params, config)
        check(
            made.shape == given.shape,
            f"apply_experts: the function made rows {list(made.shape)} of rows {list(given.shape)}",
        )
        return made

    return buffers.map(applied)


def feed_forward_of(linear: Linear, rows: Array, params: Params, config: MoeConfig) -> Array:
    """act(x wi + bi) wo + bo; gated (arXiv 2002.05202): (act(x wg + bg) * (x wi + bi)) wo + bo."""
    hidden = linear(rows, params["wi"], params.get("bi"))
    if not config.experts.gated:
        hidden = ACTIVATIONS[config.experts.act](hidden)
    else:
        hidden = _gated(linear(rows, params["wg"], params.get("bg")), hidden, config)
    return linear(hidden, params["wo"], params.get("bo"))


@one_kernel
def _gated(gate: Array, up: Array, config: MoeConfig) -> Array:
    clamp = config.experts.clamp
    if clamp is None:
        return ACTIVATIONS[config.experts.act](gate) * up
    gate, up = minimum(gate, clamp.limit), clip(up, -clamp.limit, clamp.limit)
    return (up + 1) * gate * sigmoid(gate * clamp.alpha)


def plain_linear(x: Array, weights: ArrayLike, bias: Any = None) -> Array:
    """x [..., M] with one matrix [M, H] for all."""
    matrix = as_value(weights, x)
    letters = "ABCDEFG"[: x.ndim - 1]
    made = einsum(f"{letters}M,MH->{letters}H", x, matrix)
    return made if bias is None else made + as_value(bias, x)


class Beside(NamedTuple):
    """What is beside the experts of a token: `made` of a network of all, `parts` of both where they are weighed."""

    made: Array | None = None
    parts: Array | None = None

    def join(self, y: Array) -> Array:
        """y, of the experts, with it."""
        if self.made is None:
            return y
        return y + self.made if self.parts is None else self.parts[..., :1] * y + self.parts[..., 1:] * self.made


def beside(x: Array, params: Params, config: MoeConfig) -> Beside:
    """A shared expert, or a residual one (PR-MoE), of x; it waits for nothing that is sent.

    params: "shared", a feed-forward network of weights [M, H], with "shared_gate" [M, 1] where it
      is gated (Qwen2-MoE); "residual" and "residual_gate" [M, 2] (arXiv 2201.05596).
    """
    if isinstance(config.beside, Residual):
        parts = softmax(plain_linear(x, params["residual_gate"]))
        return Beside(feed_forward_of(plain_linear, x, params["residual"], config), parts)
    if config.beside is None:
        return Beside()
    made = feed_forward_of(plain_linear, x, params["shared"], config)
    if config.beside.gated:
        made = made * sigmoid(plain_linear(x, params["shared_gate"]))
    return Beside(made)
