# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds of a layer, of what is around layers, and of the optimiser, from the rows of their programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shoal.planning.added import adding_seconds, bytes_of_product
from shoal.planning.again import repeated_rows
from shoal.planning.arithmetic import attention_flops, rounded_values
from shoal.planning.beside_products import with_products_beside
from shoal.planning.exchanges import sent_share, with_copies_once
from shoal.planning.kernels import LOSS
from shoal.planning.mapping import Mapping
from shoal.planning.programs import Kind, Setting
from shoal.simulation.forecast import Forecast, Row
from shoal.simulation.machines import Machine

__all__ = ["Costs", "around_costs", "attention_seconds", "layer_costs", "optimizer_costs", "rounding_seconds", "sorting_seconds", "typed_share"]

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


def layer_costs(forecast: Forecast, setting: Setting, kind: Kind, machine: Machine) -> Costs:
    """Of a layer, with kernels that those who train have and its program has not."""
    counted = with_copies_once(_counted(forecast), setting, machine)
    rows = [row for row in with_products_beside(counted, setting, kind, machine) if row.layer != LOSS]
    more = {
        "round": rounding_seconds(setting, kind, machine),
        "rows in order": sorting_seconds(setting, kind, machine),
        "gradients added up": adding_seconds(setting, kind, machine),
    }
    kernels = [
        Row(name, seconds, runs=1, bytes=0, bound="memory", layer="layers.0/experts" if name == "rows in order" else "", type=setting.mapping.type)
        for name, seconds in more.items()
        if seconds
    ]
    rows += repeated_rows(forecast, setting)
    return Costs(micro=(*_priced(rows, setting, kind, machine), *kernels))


def _counted(forecast: Forecast) -> list[Row]:
    """Without numbers of gradients, which no job makes."""
    return [row for row in forecast.rows if not row.layer.startswith("measured")]


def _priced(rows: Sequence[Row], setting: Setting, kind: Kind, machine: Machine) -> list[Row]:
    """With attention as one kernel, and products of the plan's type."""
    calls = [row for row in rows if row.name == "custom_call"]
    each = attention_seconds(setting, kind, machine) / len(calls) if calls else 0.0
    made = []
    for row in rows:
        if row.name == "custom_call" and each > row.seconds:
            row = replace(row, name="attention", seconds=each, bound="operations")
        made.append(_typed(row, setting.mapping, machine))
    return made


def attention_seconds(setting: Setting, kind: Kind, machine: Machine) -> float:
    """Of all calls of attention kernels of a layer, by its operations."""
    peak = machine.flops["f32" if setting.mapping.type == "f32" else "bf16"]
    seconds = attention_flops(setting.config, kind, setting.mapping) / (peak * machine.attention)
    return seconds * ((2 if setting.mapping.recompute == "full" else 1) + _BACKWARD)


def rounding_seconds(setting: Setting, kind: Kind, machine: Machine) -> float:
    """What products in 8 bits round, in kernels of their own: each value is read once, of two bytes, and written twice, as
    forward products have scales along rows and those of weights' gradients along columns (arXiv 2412.19437, section 3.3).
    Weights are rounded once in a step, which does not count."""
    if not setting.mapping.type.startswith("f8"):
        return 0.0
    values = rounded_values(setting.shapes["layers"][kind.first], setting.config, setting.mapping)
    return machine.price_kernel(int(4 * values))


def sorting_seconds(setting: Setting, kind: Kind, machine: Machine) -> float:
    """Of Megatron-Core's dispatchers (token_dispatcher.py, sort_chunks_by_idxs, and permute behind DeepEP's): rows lie by the
    devices that they are from, and where a device has several experts they are copied into the order of these and, as what
    experts made, back; so are the cotangents of both. Shoal's own exchange puts rows where they belong."""
    mapping, moe = setting.mapping, setting.config.moe
    is_sent = moe is not None and moe.moe_token_dispatcher_type == "alltoall" and moe.moe_expert_capacity_factor is None
    if not (kind.has_experts and is_sent and mapping.ep < moe.num_experts):
        return 0.0
    tokens = mapping.device_tokens / mapping.tp
    rows = tokens * moe.moe_router_topk * setting.filled * mapping.etp * setting.config.hidden_size * mapping.width
    # What came is read, and all written; in a layer that is computed again, in three passes.
    return (6 if mapping.recompute == "full" else 4) * machine.price_kernel(int((1 + sent_share(setting)) * rows))


def typed_share(type: str, machine: Machine) -> float:
    """Of a product in bfloat16 that takes as long as its operations, the share that it takes in the plan's type."""
    return machine.flops["bf16"] / machine.flops[type] if type in machine.flops else 1.0


def _typed(row: Row, mapping: Mapping, machine: Machine) -> Row:
    if row.shape is None or row.type != "bf16" or row.bound != "operations":
        return row
    moved = row.runs * machine.price_kernel(bytes_of_product(row.shape, mapping.type, mapping.width))
    return replace(row, seconds=max(row.seconds * typed_share(mapping.type, machine), min(moved, row.seconds)))


def around_costs(forecast: Forecast) -> Costs:
    """Of the embedding and the head."""
    return Costs(micro=tuple(_counted(forecast)))


def optimizer_costs(forecast: Forecast, name: str) -> Costs:
    """Of the parameters of this name: "layers.0" or "around"."""
    rows = [row for row in forecast.rows if row.layer.split("/")[0] == name]
    return Costs(
        sums=tuple(row for row in rows if row.name in _SUMS), update=tuple(row for row in rows if row.name not in _SUMS)
    )
