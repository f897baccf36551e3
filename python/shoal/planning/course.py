# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The seconds of a step from those of its layers.

The same for what was simulated and for bounds: parts of a step rise with each of the seconds they are made of, and so does
their sum. And the same for one mapping and for many: sizes, and seconds of layers, may be columns
(`shoal.planning.columns`), and so are the step's then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.planning.beside import longer, room, together
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
    around = _with_stored(around, mapping, machine)
    whole = sum(_layer(each, mapping, machine) * count for each, count in layers)
    # Layers that predict further tokens are as the last one.
    further = mapping.mtp * _layer(layers[-1][0], mapping, machine)
    slowest = _slowest(mapping, whole, sum(count for _, count in layers), around, further) + _waited_for(mapping, send)
    passed = passage(mapping, slowest, whole + further + around.micro, send * 2 * (mapping.pp - 1))
    each_batch = passed.work / mapping.micro_batches
    most = layers_of_stage(sum(count for _, count in layers), mapping.pp)
    sums = gathers = 0.0
    if mapping.zero < 2:
        sums = _of_stage("sums", mapping, layers, around)
        if mapping.sums_beside:
            sums = _beside(sums, mapping, _BACKWARD * each_batch, most, machine)
    if mapping.zero < 3:
        gathers = _of_stage("gathers", mapping, layers, around)
        if mapping.gathers_beside:
            gathers = _beside(gathers, mapping, _FORWARD * each_batch, most, machine)
    parts = {
        "micro-batches": passed.work,
        "pipeline's waiting": passed.bubble,
        "sums of gradients": sums,
        "optimizer": _of_stage("update", mapping, layers, around),
        "gathers of parameters": gathers,
    }
    return Step(parts, _exposed_in(passed, mapping, machine, layers, send) + sums + gathers)


def _layer(each: Spent, mapping: Mapping, machine: Machine) -> float:
    """A layer's seconds of a micro-batch; its exchanges beside the kernels of another one where that is said, and beside its
    neighbours' what gathers parameters that are in parts, in front of each pass, and sums gradients that are."""
    return _passes(each, mapping, mapping.exchange_beside, machine)


def _passes(each: Spent, mapping: Mapping, exchange_beside: bool, machine: Machine) -> float:
    """The same of a layer or of what is around layers, whose exchanges are beside kernels or not."""
    plain = together(each.sent * exchange_beside, each.computed, machine) + each.sent * (not exchange_beside)
    if mapping.zero < 2:
        return plain
    gathers, sums = each.gathers * (mapping.zero == 3), each.sums
    total = 0.0
    for share, summed in ((_FORWARD, 0.0), (_BACKWARD, sums)):
        parts = ((gathers, mapping.gathers_beside), (summed, mapping.sums_beside), (each.sent / 2, exchange_beside))
        beside = sum(seconds for seconds, is_beside in parts if is_beside)
        total += together(beside, share * each.computed, machine) + sum(seconds for seconds, _ in parts) - beside
    return np.where(gathers + sums == 0, plain, total)


def _with_stored(around: Around, mapping: Mapping, machine: Machine) -> Around:
    """What is around with what gathers its parameters and sums its gradients, if each micro-batch does; the head alone has
    all of it, as its product is most of the time."""
    more = np.maximum(_passes(around.spent, mapping, False, machine) - around.micro, 0.0)
    return Around(replace(around.spent, computed=around.spent.computed + more), around.behind + more)


def _slowest(mapping: Mapping, layers: float, count: int, around: Around, further: float) -> float:
    """The stage that all others wait for. Stages have whole layers: where these are not divisible by stages, some have one
    less, the last one, which has the head and layers that predict further tokens, first of all."""
    most = layers_of_stage(count, mapping.pp)
    left_out = np.minimum(most * mapping.pp - count, most)
    each = layers / count
    one_of_many = np.maximum(most * each, (most - left_out) * each + around.behind + further)
    return np.where(mapping.pp == 1, layers + around.micro + further, one_of_many)


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


def _beside(seconds: float, mapping: Mapping, computed: float, layers: float, machine: Machine) -> float:
    """How much longer a step is for what a device's layers send once a step beside kernels, which are slower meanwhile. computed:
    of a micro-batch, by all of these layers.

    A layer's gradients are complete when the last micro-batch has passed it: they are summed while this passes the layers
    before it, and the first one's when nothing is left to compute. Of several stages a device, as many micro-batches as the
    pipeline has devices pass one after the other (Megatron-LM's interleaved schedule), so that one stage's are summed while
    that many pass another one. Gathers of parameters are the same from the other end.
    """
    if not machine.overlaps:
        return seconds
    stages = mapping.stages
    passing = np.where(stages > 1, np.minimum(mapping.pp, mapping.micro_batches), 1)
    others, own = passing * computed * (1 - 1 / stages), computed * np.maximum(1 / stages - 1 / layers, 0.0)
    behind = np.maximum(seconds - room(others, machine), seconds / stages)
    exposed = np.maximum(behind - room(own, machine), seconds / layers)
    return exposed + longer(seconds - exposed, others + own, machine)


def _exposed_in(
    passed: Passage, mapping: Mapping, machine: Machine, layers: Sequence[tuple[Spent, int]], send: float
) -> float:
    """Of micro-batches."""
    shares = shares_of_stage([count for _, count in layers], mapping.pp)
    waits = sum((_layer(each, mapping, machine) - each.computed) * share for (each, _), share in zip(layers, shares))
    return mapping.micro_batches * (np.maximum(waits, 0.0) + _waited_for(mapping, send))
