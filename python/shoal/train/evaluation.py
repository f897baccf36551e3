# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Means over the batches of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

__all__ = ["evaluate"]

Tree = Any


def evaluate(
    function: Callable[[Tree, Tree], Mapping[str, tuple[Any, Any]]],
    params: Tree,
    batches: Iterable[Tree],
) -> dict[str, float]:
    """Of each metric its mean over all batches.

    function: of (params, batch), as `shoal.jit` makes one: to each metric's name a pair of the
      sum over what counts of the batch, as unmasked rows, and how much that is. Of
      `Batches(..., last="pad")` a batch is a pair with its mask.
    """
    sums: dict[str, list[float]] = {}
    for batch in batches:
        for name, (total, weight) in function(params, batch).items():
            sum_of = sums.setdefault(name, [0.0, 0.0])
            sum_of[0] += float(total)
            sum_of[1] += float(weight)
    return {name: total / weight if weight else 0.0 for name, (total, weight) in sums.items()}
