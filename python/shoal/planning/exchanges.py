# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What rows' way to experts takes at least, at once or once to a node, and the axes that it goes over."""

from __future__ import annotations

from collections.abc import Collection

from shoal.moe.layout import Layout
from shoal.moe.reach import mean_places
from shoal.planning.programs import Setting
from shoal.simulation.machines import Machine

__all__ = ["Axes", "axes_of", "exchange_bound"]

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


def exchange_bound(machine: Machine, setting: Setting, tokens: float, rows: float) -> float:
    """Seconds of rows one way, from bytes of a device's tokens and of their choices, over several devices of ep: of choices
    at once, or of tokens between nodes and then of choices within one."""
    layout, moe, e = setting.layout, setting.config.moe, setting.mapping.ep
    nodes, outer = layout.nodes("ep"), layout.outer("ep")
    local = e // nodes
    within = _along(layout, [axis for axis in layout.axes("ep") if axis not in outer])
    seconds = machine.price("all_to_all", within, int(rows * (local - 1) / local)) if local > 1 else 0.0
    if nodes > 1:
        mean = mean_places(moe, moe.moe_router_topk, nodes, -(-moe.num_experts // e) * local)
        seconds += machine.price("all_to_all", _along(layout, outer), int(tokens * mean * (nodes - 1) / nodes))
    return seconds
