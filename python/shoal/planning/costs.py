# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds of a layer, of what is around layers, and of the optimiser, from the rows of their programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shoal.moe.layout import Layout
from shoal.planning.arithmetic import attention_flops
from shoal.planning.mapping import Mapping
from shoal.planning.programs import Kind, Setting
from shoal.simulation.forecast import Forecast, Row
from shoal.simulation.machines import Machine

__all__ = ["Costs", "around_costs", "layer_costs", "optimizer_costs"]

_SUMS = ("reduce_scatter", "all_reduce")
# A backward pass multiplies five times where the forward pass does twice.
_BACKWARD = 2.5


@dataclass(frozen=True)
class Costs:
    """Rows of each micro-batch, and of each step: sums of gradients, the optimiser with its gathers."""

    micro: tuple[Row, ...] = ()
    sums: tuple[Row, ...] = ()
    update: tuple[Row, ...] = ()

    def times(self, count: float) -> Costs:
        """Of so many layers."""
        return Costs(*(_scaled(rows, count) for rows in (self.micro, self.sums, self.update)))

    def __add__(self, other: Costs) -> Costs:
        return Costs(self.micro + other.micro, self.sums + other.sums, self.update + other.update)


def _scaled(rows: Iterable[Row], by: float) -> tuple[Row, ...]:
    return tuple(replace(row, seconds=row.seconds * by) for row in rows)


def _axes(row: Row) -> set[str]:
    return set(re.findall(r'"([^"]+)"', row.axes or ""))


def _names(layout: Layout, *roles: str) -> set[str]:
    if layout.mesh is None:
        return set()
    return {str(getattr(axis, "name", axis)) for axis in layout.axes(*roles)}


def _is_sum(row: Row, layout: Layout) -> bool:
    """Of gradients: over all devices that have the same parameters of attention, or of an expert. Of values that a layer
    passes on there are no such sums."""
    if not row.is_collective:
        return False
    if row.layer.startswith("measured"):
        return True
    axes, dp, edp = _axes(row), _names(layout, "dp"), _names(layout, "edp")
    return row.name in _SUMS and (bool(dp) and axes >= dp or bool(axes) and axes <= edp)


def _sums(rows: Iterable[Row], layout: Layout, wider: float) -> tuple[Row, ...]:
    return _scaled((row for row in rows if _is_sum(row, layout)), wider)


def _wider(setting: Setting) -> float:
    """Gradients are summed in float32, also those that the programs have in bfloat16."""
    return 1 if setting.mapping.type == "f32" else 2


def layer_costs(forecast: Forecast, setting: Setting, kind: Kind, machine: Machine) -> Costs:
    """Of the first of two layers; what is of both, or of none, counts half."""
    layout = setting.layout
    own = [row for row in forecast.rows if row.layer.startswith("layers.0")]
    both = [row for row in forecast.rows if not row.layer.startswith("layers.")]
    wider = _wider(setting)
    sums = _sums(own, layout, wider) + _scaled(_sums(both, layout, wider), 0.5)
    micro = [row for row in own if not _is_sum(row, layout)]
    micro += _scaled((row for row in both if not row.layer.startswith("measured") and not _is_sum(row, layout)), 0.5)
    return Costs(micro=tuple(_priced(micro, setting, kind, machine)), sums=sums)


def _priced(rows: Sequence[Row], setting: Setting, kind: Kind, machine: Machine) -> list[Row]:
    """With attention as one kernel, and products of the plan's type."""
    calls = [row for row in rows if row.name == "custom_call"]
    peak = machine.flops["f32" if setting.mapping.type == "f32" else "bf16"]
    seconds = attention_flops(setting.config, kind, setting.mapping) / (peak * machine.attention)
    again = 2 if setting.mapping.recompute == "full" else 1
    each = seconds * (again + _BACKWARD) / len(calls) if calls else 0.0
    made = []
    for row in rows:
        if row.name == "custom_call" and each > row.seconds:
            row = replace(row, name="attention", seconds=each, bound="operations")
        made.append(_typed(row, setting.mapping, machine))
    return made


def _typed(row: Row, mapping: Mapping, machine: Machine) -> Row:
    if row.shape is None or row.type != "bf16" or row.bound != "operations" or mapping.type not in machine.flops:
        return row
    return replace(row, seconds=row.seconds * machine.flops["bf16"] / machine.flops[mapping.type])


def around_costs(forecast: Forecast, setting: Setting) -> Costs:
    """Of the embedding and the head. What is sent over all devices of a batch is of gradients, too: rows of the
    embedding's go where they are added up."""
    layout = setting.layout
    dp = _names(layout, "dp")

    def is_sum(row: Row) -> bool:
        return _is_sum(row, layout) or row.is_collective and bool(dp) and _axes(row) >= dp

    kept = [row for row in forecast.rows if not row.layer.startswith("measured") and not is_sum(row)]
    return Costs(micro=tuple(kept), sums=_scaled(filter(is_sum, forecast.rows), _wider(setting)))


def optimizer_costs(forecast: Forecast, name: str) -> Costs:
    """Of the parameters of this name: "layers.0" or "around"."""
    return Costs(update=tuple(row for row in forecast.rows if row.layer.split("/")[0] == name))
