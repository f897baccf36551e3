# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Randomness of routers. A key and an element's place in the whole tensor give each number:
it is the same on any devices, and in a forward pass that is computed again."""

from __future__ import annotations

import math

from shoal.arrays import Array, ArrayLike, fold_in, log, maximum, negative, normal, stop_gradient, uniform
from shoal.errors import TraceError
from shoal.frontend import random
from shoal.moe.config import MoeConfig
from shoal.moe.parts import Sinkhorn, takes

__all__ = ["LATER", "PRIORITIES", "drawing_fields", "even", "forced", "gaussian", "gumbel", "jitter", "key_of_training", "used_key"]

# What is folded into the key: each use draws from one of its own.
_JITTER, _GAUSSIAN, _GUMBEL, LATER, PRIORITIES, _FORCED = range(6)
_LEAST = math.ldexp(1.0, -30)  # below every uniform number but 0, whose logarithm there is none of


def drawing_fields(config: MoeConfig) -> list[str]:
    """The fields that ask for random numbers in training, each with its value."""
    router, by_chance = config.router, config.capacity is not None and config.capacity.drops == "random"
    asking = [f"{name}={getattr(router, name)!r}" for name in ("forced", "jitter", "gate_noise", "sampling") if getattr(router, name)]
    if config.own is not None and takes(config.own.function, "key"):
        asking.append(f"own={config.own.function!r}")
    return [*asking, "drops='random'"] if by_chance else asking


def used_key(config: MoeConfig | None, key: ArrayLike | None) -> ArrayLike | None:
    """The key, or None where routers are the same without one; Sinkhorn's know by it that they are trained."""
    if config is None or not (isinstance(config.router, Sinkhorn) or drawing_fields(config)):
        return None
    return key


def key_of_training(place: str, config: MoeConfig | None, key: ArrayLike | None, training: bool) -> ArrayLike | None:
    """What a model's loss gives its routers. TraceError where they ask for a key and there is none."""
    if not training:
        return None
    if key is None and config is not None:
        asking = drawing_fields(config)
        if isinstance(config.router, Sinkhorn):
            asking = ["Sinkhorn", *asking]
        if asking:
            raise TraceError(
                f"{place}: {', '.join(asking)} in training, and no key: give key=, as train.step does,"
                " or training=False for routers without noise"
            )
    return used_key(config, key)


def forced(logits: Array, config: MoeConfig, key: ArrayLike | None) -> Array:
    """Normal numbers in place of the logits, whose gradient they have (Megatron-Core's RandomSTE)."""
    if key is None or not config.router.forced:
        return logits
    drawn = normal(fold_in(key, _FORCED, like=logits), logits.shape, logits.dtype, like=logits)
    return logits + stop_gradient(drawn - logits)


def jitter(x: Array, config: MoeConfig, key: ArrayLike | None) -> Array:
    """The router's input times U[1 - eps, 1 + eps] (Megatron-Core, DeepSpeed)."""
    eps = config.router.jitter
    if key is None or not eps:
        return x
    drawn = uniform(fold_in(key, _JITTER, like=x), x.shape, "float32", like=x)
    return x * (1 - eps + 2 * eps * drawn).astype(x.dtype)


def gaussian(logits: Array, config: MoeConfig, key: ArrayLike | None) -> Array:
    """Plus gate_noise n / E of normal n (Tutel); weights see it, too."""
    if key is None or not config.router.gate_noise > 0:
        return logits
    drawn = normal(fold_in(key, _GAUSSIAN, like=logits), logits.shape, logits.dtype, like=logits)
    return logits + drawn * (config.router.gate_noise / config.experts.number)


def gumbel(logits: Array, key: ArrayLike) -> Array:
    """Plus Gumbel noise: the largest is then a sample of softmax(logits)."""
    drawn = uniform(fold_in(key, _GUMBEL, like=logits), logits.shape, logits.dtype, like=logits)
    return logits - log(negative(log(maximum(drawn, _LEAST))))


def even(use: int, shape: tuple[int, ...], key: ArrayLike, like: Any = None) -> Array:
    """Uniform numbers: for `LATER` choices than the first, or the `PRIORITIES` by which experts keep tokens at random."""
    return uniform(fold_in(key, use, like=like), shape, "float32", like=like)
