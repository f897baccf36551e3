# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over devices: heads over "tp", places over "cp", in one of three ways (docs/guide/MoE.md).

Letters: as in `shoal.models.scores`.
"""

from __future__ import annotations

from collections.abc import Callable

from shoal.arrays import Array
from shoal.errors import TraceError
from shoal.mesh import Axis
from shoal.models.ring import ring
from shoal.models.scores import Rule, grouped, weighted
from shoal.moe.layout import Layout

__all__ = ["attend_over"]


def attend_over(layout: Layout, q: Array, k: Array, v: Array, rule: Rule) -> Array:
    """`attend` of q [B, S, N, D], k [B, S, K, D], v [B, S, K, H], whose places lie over "cp".

    The layout's `cp_comm_type` says how; results are the same, [B, S, N, H].
    """
    kind = layout.cp_comm_type if layout.size("cp") > 1 else "allgather"
    made = _CONTEXTS[kind](layout, grouped(q, k.shape[2]), k, v, rule)
    return _split(layout, made.reshape(*q.shape[:3], v.shape[3]))


def _split(layout: Layout, heads: Array) -> Array:
    """[B, S, N, D] with places over cp and heads over tp."""
    return layout.constrain(heads, "dp", "cp", "tp", None)


def _gathered(layout: Layout, q: Array, k: Array, v: Array, rule: Rule) -> Array:
    """Keys and values of all places on all devices of cp."""
    q = layout.constrain(q, "dp", "cp", "tp", None, None)
    k, v = (layout.constrain(_split(layout, x), "dp", None, "tp", None) for x in (k, v))
    return weighted(q, k, v, rule)


def _exchanged(layout: Layout, q: Array, k: Array, v: Array, rule: Rule) -> Array:
    """All places of a part of the heads on each (DeepSpeed-Ulysses, arXiv 2309.14509).

    Devices that share a key-value head have all its keys and values, and parts of its queries.
    """
    heads, within = queries_over(layout, *q.shape[2:4])
    q = layout.constrain(layout.constrain(q, "dp", "cp", "tp", None, None), "dp", None, heads, within, None)
    k, v = (layout.constrain(_split(layout, x), "dp", None, heads, None) for x in (k, v))
    return layout.constrain(weighted(q, k, v, rule), "dp", None, heads, within, None)


def queries_over(layout: Layout, shared: int, copies: int) -> tuple[tuple[str | Axis, ...], tuple[Axis, ...]]:
    """Over what `shared` key-value heads lie, and the `copies` queries of each: over tp and cp in all.

    The heads over as much of cp as there are enough of them for, which gathers the fewest keys and values.
    TraceError where the heads are too few.
    """
    whole, parts = layout.size("tp"), layout.size("cp")
    for count in range(parts, 0, -1):
        found = layout.cut("cp", count) if parts % count == 0 else None
        if found and (count == 1 or shared >= whole * count) and copies >= parts // count:
            return ("tp", *found[0]), found[1]
    raise TraceError(
        f'Layout: cp_comm_type "a2a": {shared} key-value heads, which {copies} queries share each, do not lie over'
        f' {whole} devices of "tp" and {parts} of "cp": expected a divisor d of {parts} with {whole} d <= {shared}'
        f' and {parts} / d <= {copies}; "allgather" and "p2p" take any number of heads'
    )


_CONTEXTS: dict[str, Callable[[Layout, Array, Array, Array, Rule], Array]] = {
    "allgather": _gathered,
    "a2a": _exchanged,
    "p2p": ring,
}
