# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention over devices: heads over "tp", places over "cp", in one of three ways (docs/MoE.md).

Letters: as in `shoal.models.scores`.
"""

from __future__ import annotations

from collections.abc import Callable

from shoal.errors import TraceError
from shoal.frontend.value import Value
from shoal.models.ring import ring
from shoal.models.scores import Rule, grouped, weighted
from shoal.moe.layout import Layout

__all__ = ["attend_over"]


def attend_over(layout: Layout, q: Value, k: Value, v: Value, rule: Rule) -> Value:
    """`attend` of q [B, S, N, D], k [B, S, K, D], v [B, S, K, H], whose places lie over "cp".

    The layout's `cp_comm_type` says how; results are the same, [B, S, N, H].
    """
    kind = layout.cp_comm_type if layout.size("cp") > 1 else "allgather"
    made = _CONTEXTS[kind](layout, grouped(q, k.shape[2]), k, v, rule)
    return _split(layout, made.reshape(*q.shape[:3], v.shape[3]))


def _split(layout: Layout, heads: Value) -> Value:
    """[B, S, N, D] with places over cp and heads over tp."""
    return layout.constrain(heads, "dp", "cp", "tp", None)


def _gathered(layout: Layout, q: Value, k: Value, v: Value, rule: Rule) -> Value:
    """Keys and values of all places on all devices of cp."""
    q = layout.constrain(q, "dp", "cp", "tp", None, None)
    k, v = (layout.constrain(_split(layout, x), "dp", None, "tp", None) for x in (k, v))
    return weighted(q, k, v, rule)


def _exchanged(layout: Layout, q: Value, k: Value, v: Value, rule: Rule) -> Value:
    """All places of a part of the heads on each (DeepSpeed-Ulysses, arXiv 2309.14509).

    Where the key-value heads are fewer than the devices those that share one have all its keys and
    values, and parts of its queries.
    """
    _, _, shared, copies, _ = q.shape
    whole, parts = layout.size("tp", "cp"), layout.size("cp")
    if shared >= whole:
        heads, within = ("tp", "cp"), None
    elif copies >= parts:
        heads, within = ("tp",), "cp"
    else:
        raise TraceError(
            f'Layout: cp_comm_type "a2a": neither {shared} key-value heads are as many as the {whole} devices'
            f' of "tp" and "cp", nor the {copies} heads that share one as the {parts} of "cp"'
        )
    q = layout.constrain(layout.constrain(q, "dp", "cp", "tp", None, None), "dp", None, heads, within, None)
    k, v = (layout.constrain(_split(layout, x), "dp", None, heads, None) for x in (k, v))
    return layout.constrain(weighted(q, k, v, rule), "dp", None, heads, within, None)


_CONTEXTS: dict[str, Callable[[Layout, Value, Value, Value, Rule], Value]] = {
    "allgather": _gathered,
    "a2a": _exchanged,
    "p2p": ring,
}
