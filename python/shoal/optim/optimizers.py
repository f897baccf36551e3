# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole optimisers, as chains of transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.optim.transforms import (
    Rate,
    Transform,
    add_decayed_weights,
    chain,
    clip_by_block_rms,
    scale_by_adam,
    scale_by_factored_rms,
    scale_by_learning_rate,
    scale_by_lion,
    scale_by_param_rms,
    trace,
)

__all__ = ["adafactor", "adam", "adamw", "lion", "sgd"]

Tree = Any
Mask = Tree | Callable[[Tree], Tree] | None


def sgd(learning_rate: Rate, momentum: float | None = None, nesterov: bool = False) -> Transform:
    """Gradients times minus the learning rate, with momentum where it is given."""
    rate = scale_by_learning_rate(learning_rate)
    return rate if momentum is None else chain(trace(momentum, nesterov), rate)


def adam(
    learning_rate: Rate, b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, eps_root: float = 0.0
) -> Transform:
    """Adam (arXiv 1412.6980)."""
    return chain(scale_by_adam(b1, b2, eps, eps_root), scale_by_learning_rate(learning_rate))


def adamw(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    eps_root: float = 0.0,
    weight_decay: float = 1e-4,
    mask: Mask = None,
) -> Transform:
    """Adam with decoupled weight decay (arXiv 1711.05101); mask as in `add_decayed_weights`."""
    return chain(
        scale_by_adam(b1, b2, eps, eps_root),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


def lion(
    learning_rate: Rate,
    b1: float = 0.9,
    b2: float = 0.99,
    weight_decay: float = 1e-3,
    mask: Mask = None,
) -> Transform:
    """Lion (arXiv 2302.06675)."""
    return chain(
        scale_by_lion(b1, b2),
        add_decayed_weights(weight_decay, mask),
        scale_by_learning_rate(learning_rate),
    )


def adafactor(
    learning_rate: Rate,
    smallest_factored: int = 128,
    decay_rate: float = 0.8,
    by_param_rms: bool = True,
    clipping: float | None = 1.0,
    weight_decay: float = 0.0,
    mask: Mask = None,
) -> Transform:
    """Adafactor (arXiv 1804.04235), as GShard trains with it: factored second moments, updates
    clipped by their root of the mean square, steps relative to the parameters', no momentum."""
    parts = [scale_by_factored_rms(decay_rate, smallest_factored)]
    if clipping is not None:
        parts.append(clip_by_block_rms(clipping))
    parts.append(scale_by_learning_rate(learning_rate))
    if by_param_rms:
        parts.append(scale_by_param_rms())
    if weight_decay:
        parts.append(add_decayed_weights(-weight_decay, mask))
    return chain(*parts)
