# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A dense network of two layers."""

from __future__ import annotations

from collections.abc import Callable

from shoal.arrays import Array, ArrayLike, matmul, relu

__all__ = ["Activation", "feed_forward"]

Activation = Callable[[Array], Array]


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
