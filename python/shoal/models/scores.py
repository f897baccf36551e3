# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Causal attention of whole sequences: grouped queries, windows, sinks.

Letters: B sequences, S and T places, N heads, K key-value heads, R = N / K, D and H elements of a head.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

from shoal.arrays import Array, as_value, broadcast_to, concatenate, einsum, iota, logical_and, softmax, where
from shoal.models.config import Chunk, Window
from shoal.models.documents import is_of_one
from shoal.models.order import Order

__all__ = ["HIDDEN", "Rule", "attend", "computed_by", "grouped", "seen_by", "weighted", "within_segments"]

# The score of a place that is not looked at.
HIDDEN = -1e30


class Rule(NamedTuple):
    """What attention of a layer is, beside q, k and v.

    window: a place looks at so many up to its own, or at those of its own chunk. sinks [N]: a further score of each
    head, which takes its part of the softmax and gives nothing (arXiv 2309.17453; gpt-oss). order: of the
    places (`shoal.models.order`). segments [B, S]: a place looks at those of its own segment alone; integers, as
    places lie.
    """

    scale: float
    window: Window = None
    sinks: Any = None
    order: Order = None
    segments: Array | None = None


def attend(
    q: Array, k: Array, v: Array, scale: float, window: int | None = None, sinks: Any = None,
    segments: Array | None = None,
) -> Array:  # fmt: skip
    """Causal softmax(scale q k) v: q [B, S, N, D], k [B, S, K, D], v [B, S, K, H]; [B, S, N, H].

    Head n reads key-value head n // (N / K), and nothing is repeated. Softmax is float32.
    window, sinks, segments: see `Rule`.
    """
    made = weighted(grouped(q, k.shape[2]), k, v, Rule(scale, window, sinks, None, segments))
    return made.reshape(*q.shape[:3], v.shape[3])


def grouped(q: Array, shared: int) -> Array:
    """[B, S, N, D] as [B, S, K, R, D]."""
    batch, length, heads, size = q.shape
    return q.reshape(batch, length, shared, heads // shared, size)


def seen_by(row: Array, column: Array, window: Window) -> Array:
    """Whether places of these positions look at those: booleans of the positions' shape."""
    seen = column <= row
    if isinstance(window, Chunk):
        return logical_and(seen, row // window.size == column // window.size)
    return seen if window is None else logical_and(seen, row - column < window)


def within_segments(seen: Array, rows: Array, columns: Array) -> Array:
    """[B, 1, 1, S, T] of what places see, [S, T]: of segments rows [B, S] and columns [B, T] those that are equal."""
    same = is_of_one(rows, columns)
    both = logical_and(broadcast_to(seen, same.shape), same)
    return both.reshape(same.shape[0], 1, 1, *same.shape[1:])


# In the place of products and a softmax.
_KERNEL: ContextVar[Callable[[Array, Array, Array, Rule], Array] | None] = ContextVar("kernel", default=None)


@contextlib.contextmanager
def computed_by(kernel: Callable[[Array, Array, Array, Rule], Array]) -> Iterator[None]:
    """While it is open, `kernel` is traced in the place of `weighted`, whose arguments and result it has."""
    token = _KERNEL.set(kernel)
    try:
        yield
    finally:
        _KERNEL.reset(token)


def weighted(q: Array, k: Array, v: Array, rule: Rule) -> Array:
    """[B, S, K, R, H] of q [B, S, K, R, D], k [B, S, K, D] and v [B, S, K, H]."""
    kernel = _KERNEL.get()
    if kernel is not None:
        return kernel(q, k, v, rule)
    length, shared, copies = q.shape[1:4]
    scores = einsum("BSKRD,BTKD->BKRST", q, k, dtype="float32") * rule.scale
    positions = iota((length,), 0, like=q) if rule.order is None else as_value(rule.order, q)
    row = broadcast_to(positions.reshape(length, 1), (length, length))
    column = broadcast_to(positions.reshape(1, length), (length, length))
    seen = seen_by(row, column, rule.window)
    if rule.segments is not None:
        seen = within_segments(seen, rule.segments, rule.segments)
    scores = where(broadcast_to(seen, scores.shape), scores, HIDDEN)
    if rule.sinks is not None:
        further = as_value(rule.sinks, q).astype("float32").reshape(1, shared, copies, 1, 1)
        scores = concatenate([scores, broadcast_to(further, (*scores.shape[:-1], 1))], -1)
    weights = softmax(scores)[..., :length].astype(v.dtype)
    return einsum("BKRST,BTKH->BSKRH", weights, v)
