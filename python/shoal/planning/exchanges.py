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
from shoal.simulation.forecast import Forecast, Row
from shoal.simulation.machines import Machine

__all__ = ["CHUNK", "Axes", "axes_of", "exchange_bound", "numbers_bound", "sent_share", "with_copies_once", "with_filled_rows"]

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


def with_filled_rows(forecast: Forecast, setting: Setting) -> Forecast:
    """Exchanges and products of experts' rows with those that fill up capacities: a program counts balanced ones."""
    if setting.filled == 1:
        return forecast
    return replace(forecast, rows=tuple(_times(row, setting.filled) if row.name.startswith("ragged") else row for row in forecast.rows))


def _times(row: Row, by: float) -> Row:
    return replace(row, seconds=row.seconds * by, bytes=int(row.bytes * by))


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
    moe, e = setting.config.moe, setting.mapping.ep
    nodes = setting.layout.nodes("ep")
    local = e // nodes
    rows *= sent_share(setting)
    within, between = _ways(setting.layout)
    seconds = machine.price("all_to_all", within, int(rows * (local - 1) / local)) if local > 1 else 0.0
    if nodes > 1:
        mean = mean_places(moe, moe.moe_router_topk, nodes, -(-moe.num_experts // e) * local)
        seconds = max(seconds, machine.price("all_to_all", between, int(tokens * mean * (nodes - 1) / nodes)))
    return seconds


def numbers_bound(machine: Machine, setting: Setting) -> float:
    """Seconds of rows' numbers, in front of them all and of each of four exchanges, on each way that they go."""
    ways = [axes for axes in _ways(setting.layout) if axes]
    return sum(machine.price("all_gather", axes, 0) + 4 * machine.price("all_to_all", axes, 0) for axes in ways)


def _ways(layout: Layout) -> tuple[Axes, Axes]:
    """The axes of ep within a node, and those between nodes, where rows are sent to these first."""
    outer = layout.outer("ep")
    return _along(layout, [axis for axis in layout.axes("ep") if axis not in outer]), _along(layout, outer)
