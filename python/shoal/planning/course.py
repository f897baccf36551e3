# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The seconds of a step from those of its layers.

The same for what was simulated and for bounds: parts of a step rise with each of the seconds they are made of, and so does
their sum. And the same for one mapping and for many: sizes, and seconds of layers, may be columns
(`shoal.planning.columns`), and so are the step's then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.planning.costs import Costs
from shoal.planning.mapping import Mapping
from shoal.planning.schedule import Passage, layers_of_stage, passage, shares_of_stage
from shoal.simulation.forecast import Row
from shoal.simulation.machines import Machine

__all__ = ["Around", "Spent", "Step", "send_seconds", "spent", "spent_around", "step_of"]

# Of a micro-batch's time, forward and backward.
_FORWARD, _BACKWARD = 1 / 3, 2 / 3


@dataclass(frozen=True)
class Spent:
    """Seconds of a layer: of a micro-batch that are sent and computed; of a step the sums of gradients, the optimiser's
    kernels, and gathers of parameters."""

    sent: float = 0.0
    computed: float = 0.0
    sums: float = 0.0
    update: float = 0.0
    gathers: float = 0.0


@dataclass(frozen=True)
class Around:
    """The same of what is around layers; `behind`: of a micro-batch, of the head alone."""

    spent: Spent = Spent()
    behind: float = 0.0

    @property
    def micro(self) -> float:
        """Of a micro-batch, both."""
        return self.spent.sent + self.spent.computed


@dataclass(frozen=True)
class Step:
    """parts: seconds by what they are spent on. exposed: in which a device waits for what is sent."""

    parts: dict[str, float]
    exposed: float

    @property
    def seconds(self) -> float:
        """Of a step."""
        return sum(self.parts.values())


def _seconds(rows: Iterable[Row]) -> float:
    return sum(row.seconds for row in rows)


def spent(costs: Costs) -> Spent:
    """Of a layer's rows."""
    return Spent(
        _seconds(row for row in costs.micro if row.is_collective),
        _seconds(row for row in costs.micro if not row.is_collective),
        _seconds(costs.sums),
        _seconds(row for row in costs.update if not row.is_collective),
        _seconds(row for row in costs.update if row.is_collective),
    )


def spent_around(costs: Costs) -> Around:
    """Of rows of the embedding and the head."""
    return Around(spent(costs), _seconds(row for row in costs.micro if row.layer != "embed"))


def step_of(
    mapping: Mapping, machine: Machine, layers: Sequence[tuple[Spent, int]], around: Around, send: float
) -> Step:
    """Of layers of each kind, each with how many there are. send: seconds of a micro-batch from a stage to the next."""
    whole = sum(_layer(each, mapping, machine) * count for each, count in layers)
    slowest = _slowest(mapping, whole, sum(count for _, count in layers), around, send)
    passed = passage(mapping, slowest, whole + around.micro + send * 2 * (mapping.pp - 1))
    each_batch = passed.work / mapping.micro_batches
    sums = _beside(_of_stage("sums", mapping, layers, around), mapping.sums_beside, _BACKWARD * each_batch)
    gathers = _beside(_of_stage("gathers", mapping, layers, around), mapping.gathers_beside, _FORWARD * each_batch)
    parts = {
        "micro-batches": passed.work,
        "pipeline's waiting": passed.bubble,
        "sums of gradients": sums,
        "optimizer": _of_stage("update", mapping, layers, around),
        "gathers of parameters": gathers,
    }
    return Step(parts, _exposed_in(passed, mapping, machine, layers, send) + sums + gathers)


def _layer(each: Spent, mapping: Mapping, machine: Machine) -> float:
    """A layer's seconds of a micro-batch; its exchanges beside the kernels of another one where that is said."""
    if not mapping.exchange_beside or not machine.overlaps:
        return each.sent + each.computed
    beside = np.minimum(each.sent, each.computed)
    return np.maximum(each.sent, each.computed + beside * machine.overlap_tax)


def _slowest(mapping: Mapping, layers: float, count: int, around: Around, send: float) -> float:
    """The stage that all others wait for. Stages have whole layers: where these are not divisible by stages, some have one
    less, the last one, which has the head, first of all."""
    most = layers_of_stage(count, mapping.pp)
    left_out = np.minimum(most * mapping.pp - count, most)
    each = layers / count
    one_of_many = np.maximum(most * each, (most - left_out) * each + around.behind) + _waited_for(mapping, send)
    return np.where(mapping.pp == 1, layers + around.micro, one_of_many)


def _waited_for(mapping: Mapping, send: float) -> float:
    """Interleaved stages send while they compute."""
    return np.where(mapping.stages == 1, 2 * send, 0.0) if mapping.schedule != "dualpipe" else 0.0


def send_seconds(mapping: Mapping, machine: Machine, boundary: int) -> float:
    """Of a micro-batch, from a stage to the next. boundary: its bytes."""
    if mapping.pp == 1:
        return 0.0
    return machine.price("permute", [(mapping.pp, mapping.stage_devices)], boundary)


def _of_stage(name: str, mapping: Mapping, layers: Sequence[tuple[Spent, int]], around: Around) -> float:
    """Of a stage's layers, and of what is around where that is more."""
    shares = shares_of_stage([count for _, count in layers], mapping.pp)
    return sum(getattr(each, name) * share for (each, _), share in zip(layers, shares)) + getattr(around.spent, name)


def _beside(seconds: float, is_beside: bool, room: float) -> float:
    return np.maximum(seconds - room, 0.0) if is_beside else seconds


def _exposed_in(
    passed: Passage, mapping: Mapping, machine: Machine, layers: Sequence[tuple[Spent, int]], send: float
) -> float:
    """Of micro-batches."""
    shares = shares_of_stage([count for _, count in layers], mapping.pp)
    waits = sum((_layer(each, mapping, machine) - each.computed) * share for (each, _), share in zip(layers, shares))
    return mapping.micro_batches * (np.maximum(waits, 0.0) + _waited_for(mapping, send))
