# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many rows an expert's buffer has: four libraries' rules, in the order in which they compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["Crowd", "room"]


class Crowd(NamedTuple):
    """k choices of each token of a group, among so many experts."""

    tokens: int
    experts: int
    k: int


def room(rule: str, factor: float | None, crowd: Crowd, least: int, alignment: int) -> int | None:
    """C of a group, at most all of its tokens; None where nothing is dropped.

    A factor of 0 asks for as many rows as are needed, which is no limit; one below 0 is
    Tutel's bound on those. least: of GShard's rule and DeepSpeed's; alignment: of Tutel's.
    """
    if not factor:
        return None
    rows = RULES[rule](crowd, factor)
    if rule in ("gshard", "deepspeed"):
        rows = max(least, rows)
    return min(-(-rows // alignment) * alignment, crowd.tokens)


def _gshard(crowd: Crowd, factor: float) -> int:
    return math.ceil(factor * crowd.k * crowd.tokens / crowd.experts)


def _deepspeed(crowd: Crowd, factor: float) -> int:
    """In float32, as DeepSpeed's tensors are."""
    return math.ceil(np.float32(crowd.tokens / crowd.experts) * np.float32(factor * crowd.k))


def _megatron(crowd: Crowd, factor: float) -> int:
    return math.ceil(crowd.tokens * crowd.k / crowd.experts * factor)


def _tutel(crowd: Crowd, factor: float) -> int:
    share = -(-crowd.tokens // crowd.experts)
    return crowd.k * int(abs(factor) * share)


RULES: dict[str, Callable[[Crowd, float], int]] = {
    "gshard": _gshard,
    "deepspeed": _deepspeed,
    "megatron": _megatron,
    "tutel": _tutel,
}
