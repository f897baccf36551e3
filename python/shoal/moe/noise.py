# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Randomness of routers. A key and an element's place in the whole tensor give each number:
it is the same on any devices, and in a forward pass that is computed again."""

from __future__ import annotations

import math

from shoal.frontend import random
from shoal.frontend.core import ArrayLike
from shoal.frontend.elementwise import log, maximum, negative
from shoal.frontend.value import Value
from shoal.moe.config import MoeConfig

__all__ = ["gaussian", "gumbel", "jitter", "later_choices", "priorities"]

# What is folded into the key: each use draws from one of its own.
_JITTER, _GAUSSIAN, _GUMBEL, _LATER, _PRIORITIES = range(5)
_LEAST = math.ldexp(1.0, -30)  # below every uniform number but 0, whose logarithm there is none of


def jitter(x: Value, config: MoeConfig, key: ArrayLike | None) -> Value:
    """The router's input times U[1 - eps, 1 + eps] (Megatron-Core, DeepSpeed)."""
    eps = config.moe_input_jitter_eps
    if key is None or not eps:
        return x
    drawn = random.uniform(random.fold_in(key, _JITTER), x.shape, "float32")
    return x * (1 - eps + 2 * eps * drawn).astype(x.dtype)


def gaussian(logits: Value, config: MoeConfig, key: ArrayLike | None) -> Value:
    """Plus gate_noise n / E of normal n (Tutel); weights see it, too."""
    if key is None or not config.gate_noise > 0:
        return logits
    drawn = random.normal(random.fold_in(key, _GAUSSIAN), logits.shape, logits.dtype)
    return logits + drawn * (config.gate_noise / config.num_experts)


def gumbel(logits: Value, key: ArrayLike) -> Value:
    """Plus Gumbel noise: the largest is then a sample of softmax(logits)."""
    drawn = random.uniform(random.fold_in(key, _GUMBEL), logits.shape, logits.dtype)
    return logits - log(negative(log(maximum(drawn, _LEAST))))


def later_choices(shape: tuple[int, ...], key: ArrayLike) -> Value:
    """Uniform numbers, one for each choice behind the first."""
    return random.uniform(random.fold_in(key, _LATER), shape, "float32")


def priorities(shape: tuple[int, ...], key: ArrayLike) -> Value:
    """Uniform numbers by which experts keep tokens at random."""
    return random.uniform(random.fold_in(key, _PRIORITIES), shape, "float32")
