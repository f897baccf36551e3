# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Learning rates by the number of the step: functions from a scalar, 0 in the first, to one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from shoal.arrays import clip, cos, maximum, minimum, rsqrt, where
from shoal.errors import TraceError

__all__ = [
    "Schedule", "constant", "cosine_decay", "inverse_sqrt", "join", "linear", "warmup_cosine",
]  # fmt: skip

Schedule = Callable[[Any], Any]
"""A learning rate: of the number of the step, an integer or a value of a program, from 0."""


def constant(value: float) -> Schedule:
    """The same in every step."""
    return lambda step: value + 0.0 * step.astype("float32")


def linear(start: float, end: float, steps: int) -> Schedule:
    """From `start` to `end` over so many steps, `end` from then on."""
    _check_steps(steps, "linear")
    return lambda step: start + (end - start) * _part(step, steps)


def cosine_decay(start: float, steps: int, end: float = 0.0) -> Schedule:
    """From `start` to `end` along half a cosine (arXiv 1608.03983), `end` from then on."""
    _check_steps(steps, "cosine_decay")
    return lambda step: end + (start - end) * 0.5 * (1.0 + cos(math.pi * _part(step, steps)))


def warmup_cosine(peak: float, warmup: int, steps: int, start: float = 0.0, end: float = 0.0) -> Schedule:
    """From `start` up to `peak` in `warmup` steps, then down along a cosine; `steps` in all."""
    if warmup >= steps:
        raise TraceError(f"warmup_cosine: {warmup} steps of warming up, of {steps} in all")
    return join(linear(start, peak, warmup), cosine_decay(peak, steps - warmup, end), warmup)


def inverse_sqrt(peak: float, warmup: int) -> Schedule:
    """Up to `peak` in `warmup` steps, then as 1 over the root of the step (arXiv 1706.03762)."""
    _check_steps(warmup, "inverse_sqrt")

    def rate(step: Any) -> Any:
        number = maximum(step.astype("float32"), 1.0)
        return peak * minimum(number / warmup, math.sqrt(warmup) * rsqrt(number))

    return rate


def join(first: Schedule, then: Schedule, boundary: int) -> Schedule:
    """`first` before step `boundary`, `then` from it on, counting from 0 there."""
    return lambda step: where(step < boundary, first(step), then(step - boundary))


def _part(step: Any, steps: int) -> Any:
    return clip(step.astype("float32") / steps, 0.0, 1.0)


def _check_steps(steps: int, what: str) -> None:
    if steps < 1:
        raise TraceError(f"{what}: expected at least one step, got {steps}")
