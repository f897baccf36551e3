# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mapping of a training job that is fastest on a machine, and how sure that is."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.errors import InputError
from shoal.executable.beside import interruptible
from shoal.models.config import ModelConfig
from shoal.planning.columns import Space
from shoal.planning.forecasts import Programs
from shoal.planning.job import Plan, check_machine, check_mapping, plan_of, programs_of
from shoal.planning.laws import check_divides_fixed
from shoal.planning.least import Bounds
from shoal.planning.mapping import Mapping
from shoal.planning.search import Found, Progress, search
from shoal.planning.space import Job, mappings
from shoal.simulation.forecast import bytes_text
from shoal.simulation.machines import Machine

__all__ = ["Choice", "NothingFitsError", "Stand", "plan"]

# Where nothing is said: sequences of a step for each device.
_SEQUENCES = 4
# A mapping whose step is longer by no more is as good as the best one.
NEAR = 0.02


class NothingFitsError(InputError):
    """No mapping of a space has as little memory as a device has."""


@dataclass(frozen=True)
class Stand:
    """A mapping of somebody else's beside the best one. slower: by which share its step is longer."""

    plan: Plan
    slower: float

    @property
    def is_near(self) -> bool:
        """Whether it is as good as the best one, by what a model of a machine can say."""
        return self.plan.fits and self.slower <= NEAR


@dataclass(frozen=True)
class Choice:
    """plans: those that were simulated and fit, the fastest first. gap: no mapping of the space but the first ones has a step
    that is shorter than that of the last of the `proven` by more than this share of it.

    mappings: how many the space has; of these too_large by their least or simulated memory, by_bound because nothing on
    this machine could make them the fastest, without_program, and simulated. programs: how many were simulated for all.
    """

    plans: tuple[Plan, ...]
    gap: float
    mappings: int
    too_large: int
    by_bound: int
    without_program: int
    simulated: int
    programs: int
    against: Stand | None = field(default=None)
    proven: int = 1

    @property
    def best(self) -> Plan:
        """The first."""
        return self.plans[0]


def plan(
    config: ModelConfig,
    *,
    machine: Machine | str | os.PathLike[str],
    devices: int,
    global_batch: int | None = None,
    sequence: int = 4096,
    within: float = 0.01,
    top: int = 5,
    proven: int = 1,
    against: Mapping | None = None,
    told: Callable[[Progress], None] = lambda progress: None,
    **fixed: Any,
) -> Choice:
    """The mapping of a training job that is fastest on a machine, by simulating those that no bound excludes.

    config: a model's, `shoal.models.from_config(...).config`. machine: a shipped machine's name, a path, or a `Machine`.
    global_batch: sequences of a step, of `sequence` tokens; by default 4 for each device. within: how much shorter the
    step of another mapping may be, as a share; 0 looks until none is. top: how many plans it has at most, of mappings whose
    layers are simulated anyway. proven: of how many no further mapping is faster by more than the last of them. against: a
    mapping that is simulated, too, and said where it stands. told: of each step of the search. fixed: fields of
    `shoal.planning.Mapping` that hold.

    Bounds are the machine's own prices (docs/guide/Planning.md). InputError for a machine that has fewer devices and for
    fields that no mapping has; NothingFitsError names the part of memory that is too large, and how many devices fit.
    """
    found = Machine.read(machine)
    check_machine(found, devices)
    for name, count in (("top", top), ("proven", proven)):
        if count < 1:
            raise InputError(f"plan: {name} {count} is not positive")
    if not 0 <= within < 1:
        raise InputError(f"plan: within {within}: expected a share of a step, at least 0 and below 1")
    job = Job(devices, _SEQUENCES * devices if global_batch is None else global_batch, sequence, dict(fixed))
    check_divides_fixed(config, job.fixed, sequence)
    if against is not None:
        check_mapping(config, found, against)
    return interruptible(lambda _: _chosen(config, found, job, (within, top, proven, against, told)))


def _chosen(config: ModelConfig, machine: Machine, job: Job, rest: tuple[Any, ...]) -> Choice:
    within, top, proven, against, told = rest
    programs = programs_of(config, machine)
    space = mappings(programs.config, machine, job)
    if not space:
        raise InputError(f"plan: no mapping of {job.devices} devices has a global batch of {job.global_batch}{_said(job)}")
    made = search(config, programs, space, within, max(top, proven), proven, told)
    if not made.plans:
        raise NothingFitsError(_nothing_fits(config, machine, job, made))
    stand = None if against is None else _stand(config, programs, against, made.plans[0])
    return Choice(
        tuple(made.plans[: max(top, proven)]), made.gap, made.space, made.too_large, made.by_bound, made.without_program, made.simulated,
        programs.simulated, stand, min(proven, len(made.plans)),
    )  # fmt: skip


def _said(job: Job) -> str:
    listed = ", ".join(f"{name} {value}" for name, value in job.fixed.items())
    return f" with {listed}" if listed else ""


def _stand(config: ModelConfig, programs: Programs, mapping: Mapping, best: Plan) -> Stand:
    programs.make(mapping, "layer", "around", "optimizer")
    made = plan_of(config, programs, mapping)
    return Stand(made, made.seconds / best.seconds - 1)


def _nothing_fits(config: ModelConfig, machine: Machine, job: Job, made: Found) -> str:
    """The part that is too large where least is held, and a number of devices that fits."""
    if made.large is None:
        return f"plan: none of {made.space} mappings has a program"
    mapping, memory = made.large
    parts = memory.parts()
    largest = max(parts, key=lambda part: parts[part])
    text = (
        f"plan: none of {made.space} mappings fits: the smallest, {mapping}, holds {bytes_text(memory.total)} of "
        f"{bytes_text(machine.memory)}, of it {largest} {bytes_text(parts[largest])}"
    )
    more = _devices_that_fit(config, machine, job)
    return f"{text}; {more} devices fit" if more else f"{text}; nor does any of {machine.name}'s {machine.devices} devices"


def _devices_that_fit(config: ModelConfig, machine: Machine, job: Job) -> int | None:
    """The first of twice, four times, ... as many of which a mapping fits when it is simulated. The batch grows with
    them where it has to."""
    # What holds least of each layout.
    least = replace(job, fixed={"micro_batch": 1, "recompute": "full", **job.fixed})
    devices = 2 * job.devices
    while devices <= machine.devices:
        programs = programs_of(config, machine)
        batch = job.global_batch if job.global_batch >= devices else devices
        space = mappings(programs.config, machine, replace(least, devices=devices, global_batch=batch))
        if _any_fits(programs, space):
            return devices
        devices *= 2
    return None


def _any_fits(programs: Programs, space: Space) -> bool:
    """Of those that hold least by their bounds, three are simulated."""
    if not space:
        return False
    bounds = Bounds(programs)
    totals = bounds.memory_of_all(space).total
    for number in totals.argsort(kind="stable")[:3].tolist():
        if totals[number] > programs.machine.memory:
            return False
        programs.make(space[number], "layer", "around")
        if bounds.memory(space[number]).total <= programs.machine.memory:
            return True
    return False
