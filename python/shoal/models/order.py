# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""In which order the places of a sequence lie over the c devices of "cp".

Causal attention is a triangle: a place looks at those before it, so that of c equal blocks the last
has 2 c - 1 times the work of the first. In the balanced order a sequence is 2 c pieces, of which
device i has i and 2 c - 1 - i: one that looks at little and one that looks at much.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from shoal.arrays import Array, take
from shoal.errors import TraceError
from shoal.moe.config import MoeConfig
from shoal.moe.layout import Layout

__all__ = ["Order", "check_order_free", "order_of", "ordered"]

Order: TypeAlias = np.ndarray | None
"""The positions [S] in the order of the places, or None where these are 0 ... S - 1."""


def order_of(layout: Layout, length: int) -> Order:
    """Of sequences of so many places; TraceError where 2 c pieces are not equal."""
    count = layout.size("cp")
    if count == 1 or not layout.cp_balanced:
        return None
    if length % (2 * count):
        raise TraceError(
            f"Layout: cp_balanced: {length} places are not divisible into 2 x {count} pieces;"
            f' "cp" has {count} devices'
        )
    pieces = np.arange(length, dtype=np.int32).reshape(2 * count, -1)
    both = [piece for i in range(count) for piece in (i, 2 * count - 1 - i)]
    return pieces[both].reshape(-1)


def ordered(x: Array, order: Order) -> Array:
    """[B, S] as places lie."""
    return x if order is None else take(x, order, 1)


def check_order_free(config: MoeConfig, order: Order, length: int, has_noise: bool) -> None:
    """TraceError, naming the field, where a layer of experts would not be the same in another order."""
    if order is None:
        return
    size = config.group_size
    whats = {
        "noise": has_noise, "a capacity": config.room is not None,
        f"group_size={size}": size is not None and size % length != 0,
    }  # fmt: skip
    for what in (what for what, differs in whats.items() if differs):
        raise TraceError(
            f"Layout: cp_balanced: experts with {what} depend on the order of the {length} places; give cp_balanced=False"
        )
