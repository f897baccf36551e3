# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forecast of a training job: how long a step is, on what, and what a device holds."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from shoal.errors import InputError
from shoal.executable.beside import interruptible
from shoal.models.config import ModelConfig
from shoal.moe.config import MoeConfig
from shoal.planning.arithmetic import flops_of_token
from shoal.planning.costs import Costs
from shoal.planning.course import send_seconds, spent, spent_around, step_of
from shoal.planning.forecasts import Programs, boundary_bytes
from shoal.planning.laws import check_divides
from shoal.planning.mapping import Mapping
from shoal.planning.memory import Memory, memory_of
from shoal.planning.programs import Kind
from shoal.planning.schedule import shares_of_stage
from shoal.simulation.forecast import Row
from shoal.simulation.machines import Machine

__all__ = ["Line", "Plan", "forecast_of", "plan_of", "programs_of"]


@dataclass(frozen=True)
class Line:
    """What takes time in a step: where, what, why so long, and seconds of a device."""

    where: str
    what: str
    bound: str
    seconds: float
    is_collective: bool


@dataclass(frozen=True)
class Plan:
    """A training job on a machine, simulated. Seconds are of a step, bytes of the device that holds most.

    parts: seconds by what they are spent on; their sum is `seconds`. exposed: in which a device waits for what is sent.
    lines: what takes the time, most first. The pipeline's waiting is no line.
    """

    config: ModelConfig
    machine: Machine
    mapping: Mapping
    parts: dict[str, float]
    exposed: float
    memory: Memory
    lines: tuple[Line, ...] = dataclasses.field(repr=False)

    @property
    def seconds(self) -> float:
        """Of a step."""
        return sum(self.parts.values())

    @property
    def tokens_per_second(self) -> float:
        """Of all devices."""
        return self.mapping.tokens / self.seconds

    @property
    def flops(self) -> float:
        """Operations a second of a device, of the model's arithmetic."""
        each = flops_of_token(self.config, self.mapping.sequence, self.mapping.mtp)
        return each * self.tokens_per_second / self.mapping.devices

    @property
    def mfu(self) -> float:
        """Their share of the peak in bfloat16."""
        return self.flops / self.machine.flops["bf16"]

    @property
    def fits(self) -> bool:
        """Whether a device has as much memory."""
        return self.memory.total <= self.machine.memory


def forecast_of(
    config: ModelConfig, machine: Machine, mapping: Mapping, /, programs: Programs | None = None, **options: Any
) -> Plan:
    """programs: of this model on this machine, where other forecasts share them. options: fields of CompileOptions; without
    `machine` shardings are those by bytes or by this machine's seconds, whatever is faster. InputError where the machine has
    fewer devices or no peak for bfloat16 or the mapping's type, and where groups do not divide the model's sizes."""
    check_mapping(config, machine, mapping)
    programs = programs or programs_of(config, machine, **options)

    def made(_: Any) -> Plan:
        programs.make(mapping, "layer", "around", "optimizer")
        return plan_of(config, programs, mapping)

    return interruptible(made)


def check_mapping(config: ModelConfig, machine: Machine, mapping: Mapping) -> None:
    """InputError where the machine cannot have such a job, or the model such a mapping."""
    check_machine(machine, mapping.devices, mapping.type)
    check_divides(config, mapping)


def check_machine(machine: Machine, devices: int, type: str = "bf16") -> None:
    """InputError where it cannot have such a job."""
    if devices > machine.devices:
        raise InputError(f"plan: {devices} devices, but {machine.name} has {machine.devices}")
    for each in ("bf16", type):
        if each not in machine.flops:
            raise InputError(f"plan: {machine.name} has no peak for {each}, but for {sorted(machine.flops)}")


def programs_of(config: ModelConfig, machine: Machine, /, **options: Any) -> Programs:
    """What forecasts of this model's mappings share; options: as of `forecast_of`."""
    return Programs(simulated(config), machine, **{"filled": _filled(config.moe), **options})


def _filled(moe: MoeConfig) -> float:
    """How many times their balanced rows experts have whose rows are filled up to a capacity; fewer rows have less room."""
    return max(moe.moe_expert_capacity_factor or 1.0, 1.0) if moe.moe_pad_expert_input_to_capacity else 1.0


def simulated(config: ModelConfig) -> ModelConfig:
    """Experts' biases are state that a loss moves: some numbers, which are left out. Rows are exchanged, and
    balanced; whether they go once to a node, mappings say."""
    moe = config.moe.replace(moe_router_enable_expert_bias=False)
    if moe.moe_token_dispatcher_type in ("allgather", "auto", "flex"):
        moe = moe.replace(moe_token_dispatcher_type="alltoall")
    if moe.moe_token_dispatcher_type == "alltoall":
        moe = _exchanged(moe)
    return dataclasses.replace(config, moe=moe)


def _exchanged(moe: MoeConfig) -> MoeConfig:
    """With room on a device for the rows that come; with capacities of experts for as many as these let through or, where
    experts' rows are filled up, have. Megatron-Core sends such rows as it sends all others."""
    factor, padded = moe.moe_expert_capacity_factor, moe.moe_pad_expert_input_to_capacity
    if factor is not None:
        fields = {"moe_expert_capacity_factor": None, "moe_token_drop_policy": "probs", "moe_pad_expert_input_to_capacity": False}
        return moe.replace(**fields, moe_expert_rank_capacity_factor=factor if padded else min(factor, 1.0))
    return moe.replace(moe_expert_rank_capacity_factor=1.0) if moe.moe_expert_rank_capacity_factor is None else moe


def plan_of(config: ModelConfig, programs: Programs, mapping: Mapping) -> Plan:
    """Of programs that were made for the mapping."""
    kinds, machine = programs.kinds, programs.machine
    layers = programs.layers(mapping)
    updates, around_update = programs.optimizer(mapping)
    costs = [layer.costs + update for layer, update in zip(layers, updates)]
    around = programs.around(mapping) + around_update
    counted = [(spent(each), kind.count) for each, kind in zip(costs, kinds)]
    send = send_seconds(mapping, machine, boundary_bytes(programs.config, mapping))
    step = step_of(mapping, machine, counted, spent_around(around), send)
    held = programs.held(mapping)
    working = max(programs.head_working(mapping), *(layer.working for layer in layers))
    memory = memory_of(mapping, kinds, held, [layer.saved for layer in layers], working)
    lines = _lines(mapping, [*zip(costs, kinds), (around, None)])
    parts = {name: float(seconds) for name, seconds in step.parts.items()}
    return Plan(config, machine, mapping, parts, float(step.exposed), memory.as_floats(), tuple(lines))


def _lines(mapping: Mapping, costs: list[tuple[Costs, Kind | None]]) -> list[Line]:
    lines: dict[tuple[str, str, str], float] = {}
    sending: dict[tuple[str, str, str], bool] = {}
    counts = [kind.count for _, kind in costs if kind]
    shares = [*shares_of_stage(counts, mapping.pp), 1.0]
    for (each, kind), share in zip(costs, shares):
        for name in ("micro", "sums", "update"):
            for row in getattr(each, name):
                times = _times(name, row, mapping)
                part = {"sums": "sums of gradients", "update": "optimizer"}.get(name) or _where(row, kind)
                key = (part, row.kind, row.bound_text)
                lines[key] = lines.get(key, 0.0) + row.seconds * share * times
                sending[key] = row.is_collective
    made = [Line(*key, seconds, sending[key]) for key, seconds in lines.items()]
    return sorted(made, key=lambda line: -line.seconds)


def _times(name: str, row: Row, mapping: Mapping) -> int:
    """How often in a step: what is in parts is summed, and gathered forward and back, by each micro-batch."""
    if name == "micro" or (name == "sums" and mapping.zero >= 2):
        return mapping.micro_batches
    return 2 * mapping.micro_batches if name == "update" and row.is_collective and mapping.zero == 3 else 1


def _where(row: Row, kind: Kind | None) -> str:
    part = row.layer.partition("/")[2] if row.layer.startswith("layers.") else row.layer
    part = part or "between"
    return part if kind is None or part in ("experts", "dense") else f"{part} ({kind.name})"
