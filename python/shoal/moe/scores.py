# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From logits to scores, and which experts may be chosen. Letters: G, S, E as in `shoal.moe`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.arrays import (
    Array, abs, any, exp, full, max, maximum, mean, one_hot, ones, or_one, repeat, root_of, sigmoid, softmax,
    softplus, stop_gradient, sum, top_k, where, while_loop, zeros,
)  # fmt: skip

__all__ = ["SCORES", "allowed_experts", "balanced_scores", "of_valid", "sinkhorn"]


def sqrtsoftplus(x: Array) -> Array:
    """sqrt(log(1 + exp(x))), with a gradient of 0 where the logarithm is 0."""
    return root_of(softplus(x))


SCORES: dict[str, Callable[[Array], Array]] = {
    "softmax": softmax,
    "sigmoid": sigmoid,
    "sqrtsoftplus": sqrtsoftplus,
}


def balanced_scores(logits: Array, function: str) -> Array:
    """Scores of sum 1 over the experts, as losses take them (Megatron-Core); 0 of a token all of whose scores are 0."""
    scores = SCORES[function](logits)
    return scores if function == "softmax" else scores / or_one(sum(scores, -1, keepdims=True))


def of_valid(value: Array, valid: Array) -> Array:
    """value [G, S, ...] where valid [G, S] is not 0, else 0, whatever stands there: 0 times NaN is NaN, and so is
    the gradient of a product with 0 of what is infinite."""
    chosen = valid.astype("bool").reshape(*valid.shape, *[1] * (value.ndim - valid.ndim))
    return where(chosen, value, 0.0)


def allowed_experts(choice: Array, groups: int, chosen: int, best_of: int) -> Array:
    """Bool [G, S, E]: the experts of each token's `chosen` best groups of neighbours.

    A group's score is the sum of its `best_of` best (DeepSeek-V2 1, arXiv 2405.04434; -V3 2,
    arXiv 2412.19437; Megatron-Core k // chosen).
    """
    *outer, experts = choice.shape
    size = experts // groups
    of_group = sum(top_k(choice.reshape(*outer, groups, size), best_of)[0], -1)
    kept = sum(one_hot(top_k(of_group, chosen)[1], groups), -2) > 0
    return repeat(kept, size, -1)


def sinkhorn(logits: Array, valid: Array, tolerance: float = 1e-4, epsilon: float = 1e-8) -> Array:
    """exp(logits) [G, S, E] with rows and columns scaled in turn to sums 1/S and 1/E of a group.

    valid [G, S]: 0 for tokens that do not count. Each group stops where the mean change of its
    columns is at most the tolerance, as Megatron-Core's `sinkhorn`. No gradient.
    """
    groups, tokens, experts = logits.shape
    # A factor of a row is what rows are scaled by in any case: without it exp would overflow.
    cost = stop_gradient(of_valid(exp(logits - max(logits, -1, keepdims=True)), valid))
    count = stop_gradient(maximum(sum(valid, 1, keepdims=True), 1.0))
    kind = cost.dtype

    def moves(state: tuple[Array, Array, Array]) -> Array:
        return any(state[2] > tolerance)

    def scale(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        columns, rows, change = state
        new_rows = 1 / count / (sum(columns.reshape(groups, 1, experts) * cost, 2) + epsilon)
        spread = sum(new_rows.reshape(groups, tokens, 1) * cost, 1)
        new = 1 / np.asarray(experts, kind) / (spread + epsilon)
        goes_on = (change > tolerance).reshape(groups, 1)
        moved = where(goes_on.reshape(groups), mean(abs(columns - new), 1), change)
        return where(goes_on, new, columns), where(goes_on, new_rows, rows), moved

    start = (
        ones((groups, experts), kind, like=cost),
        zeros((groups, tokens), kind, like=cost),
        full((groups,), float("inf"), kind, like=cost),
    )
    columns, rows, _ = while_loop(moves, scale, start)
    return columns.reshape(groups, 1, experts) * cost * rows.reshape(groups, tokens, 1)
