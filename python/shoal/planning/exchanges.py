# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rows' way to experts takes, at once or once to a node, and the axes that it goes over.

Who sends rows once to a node (DeepEP's kernels) sends them there once to each device, which has a copy for each of its
experts: of k choices fewer than k copies go over the links within a node. And both ways are taken chunk by chunk. A program
of Shoal's sends there a copy for each choice, when all that came from other nodes is there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from shoal.moe.layout import Layout
from shoal.moe.reach import mean_places
from shoal.planning.programs import Setting
from shoal.simulation.forecast import Row
from shoal.simulation.machines import Machine

__all__ = ["CHUNK", "Axes", "axes_of", "exchange_bound", "sent_share", "with_copies_once"]

# Tokens of which a node has what came from others before it passes them on (DeepEP's branch hybrid-ep at 7febc6e).
CHUNK = 128

# Sizes, and strides of device numbers.
Axes = list[tuple[int, int]]


def axes_of(setting: Setting, *roles: str) -> Axes:
    """Those of the mesh along these roles."""
    return _along(setting.layout, setting.layout.axes(*roles)) if setting.layout.mesh is not None else []


def _along(layout: Layout, wanted: Collection[str]) -> Axes:
    found, stride = [], 1
    for name, size in reversed(list(layout.mesh.axes.items())):
        found += [(size, stride)] if name in wanted else []
        stride *= size
    return found


def sent_share(setting: Setting) -> float:
    """Of a device's choices, those that are sent within nodes: one for each other device that has some of a token's."""
    moe, e = setting.config.moe, setting.mapping.ep
    if setting.mapping.dispatch != "flex" or e == 1:
        return 1.0
    return min(1.0, mean_places(moe, moe.moe_router_topk, e, -(-moe.num_experts // e)) / moe.moe_router_topk)


def with_copies_once(rows: Sequence[Row], setting: Setting, machine: Machine) -> list[Row]:
    """Of a layer's rows, exchanges of experts' rows within nodes with what is sent there, and beside those between nodes."""
    inner = machine.levels[0][0] if machine.levels else None
    sent = [row for row in rows if row.name == "ragged_all_to_all" and row.bound == "link"]
    if setting.mapping.dispatch != "flex" or not sent:
        return list(rows)
    between = max((row.seconds for row in sent if row.level != inner), default=0.0)
    tokens = setting.mapping.device_tokens / setting.mapping.tp
    within = {id(row) for row in sent if row.level == inner}
    return [_within(row, sent_share(setting), between, min(1.0, CHUNK / tokens)) if id(row) in within else row for row in rows]


def _within(row: Row, share: float, between: float, chunk: float) -> Row:
    """Of the shorter one of both ways a chunk is waited for."""
    seconds = row.seconds * share
    beside = min(seconds, between)
    return replace(row, seconds=seconds - beside + beside * chunk, bytes=int(row.bytes * share))


def exchange_bound(machine: Machine, setting: Setting, tokens: float, rows: float) -> float:
    """Seconds of rows one way, from bytes of a device's tokens and of their choices, over several devices of ep: of choices
    at once, or of tokens between nodes and beside that of copies within one."""
    layout, moe, e = setting.layout, setting.config.moe, setting.mapping.ep
    nodes, outer = layout.nodes("ep"), layout.outer("ep")
    local = e // nodes
    rows *= sent_share(setting)
    within = _along(layout, [axis for axis in layout.axes("ep") if axis not in outer])
    seconds = machine.price("all_to_all", within, int(rows * (local - 1) / local)) if local > 1 else 0.0
    if nodes > 1:
        mean = mean_places(moe, moe.moe_router_topk, nodes, -(-moe.num_experts // e) * local)
        seconds = max(seconds, machine.price("all_to_all", _along(layout, outer), int(tokens * mean * (nodes - 1) / nodes)))
    return seconds
