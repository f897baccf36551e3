# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forecast of a training job: how long a step is, on what, and what a device holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from shoal.errors import InputError
from shoal.frontend.tracing import Program
from shoal.models.config import ModelConfig
from shoal.planning.arithmetic import flops_of_token
from shoal.planning.costs import Costs, around_costs, layer_costs, optimizer_costs
from shoal.planning.mapping import Mapping
from shoal.planning.memory import Memory, memory_of, weight_bytes
from shoal.planning.programs import (
    Kind,
    Setting,
    around_program,
    kinds_of,
    layer_program,
    optimizer_program,
)
from shoal.planning.schedule import Passage, passage
from shoal.simulation.forecast import Forecast, Row
from shoal.simulation.machines import Machine
from shoal.simulation.simulate import simulate_text

__all__ = ["Line", "Plan", "forecast_of"]

# Of a micro-batch's time, forward and backward.
_FORWARD, _BACKWARD = 1 / 3, 2 / 3


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
        return flops_of_token(self.config, self.mapping.sequence) * self.tokens_per_second / self.mapping.devices

    @property
    def mfu(self) -> float:
        """Their share of the peak in bfloat16."""
        return self.flops / self.machine.flops["bf16"]

    @property
    def fits(self) -> bool:
        """Whether a device has as much memory."""
        return self.memory.total <= self.machine.memory


def forecast_of(config: ModelConfig, machine: Machine, mapping: Mapping, /, **options: Any) -> Plan:
    """options: fields of CompileOptions; without `machine` shardings are those by bytes or by this machine's seconds,
    whatever is faster. InputError where the machine has fewer devices, and where it has no peak for bfloat16."""
    if mapping.devices > machine.devices:
        raise InputError(f"plan: {mapping.devices} devices, but {machine.name} has {machine.devices}")
    if "bf16" not in machine.flops:
        raise InputError(f"plan: {machine.name} has no peak for bf16, but for {sorted(machine.flops)}")
    setting = Setting(_simulated(config), mapping)
    kinds = kinds_of(setting.config)
    return _Forecasts(setting, machine, kinds, options).plan(config)


def _simulated(config: ModelConfig) -> ModelConfig:
    """Experts' biases are state that a loss moves: some numbers, which are left out. Rows are balanced where the
    configuration says no capacity."""
    moe = config.moe.replace(moe_router_enable_expert_bias=False)
    if moe.moe_expert_capacity_factor is None and moe.moe_expert_rank_capacity_factor is None:
        moe = moe.replace(moe_expert_rank_capacity_factor=1.0)
    return dataclasses.replace(config, moe=moe)


class _Forecasts:
    """Those of a setting's programs."""

    def __init__(self, setting: Setting, machine: Machine, kinds: Sequence[Kind], options: dict[str, Any]):
        self.setting, self.machine, self.kinds = setting, machine, kinds
        # A table that is gathered whole, and work that is repeated, are what is to be forecast.
        found = {"quick_search": True, "max_replicated_bytes": -1, "warn_repeated_work": 0.0}
        self.options = {"target": "cuda", "cache": False, **found, **options}
        # Neither a plan by bytes nor one by seconds is always the faster one; of one layer as of two.
        objectives = (self.options.pop("machine"),) if "machine" in options else ("", machine.path)
        # Traced one after the other, as a thread traces one program; compiled two at a time.
        ones = [layer_program(setting, kind, 1) for kind in kinds]
        rest = [(around_program(setting), ""), (optimizer_program(setting, kinds), "")]
        jobs = [(one, objective) for one in ones for objective in objectives]
        *made, self.around, self.optimizer = _in_threads([*jobs, *rest], self._simulate)
        tried = [made[at : at + len(objectives)] for at in range(0, len(made), len(objectives))]
        best = [min(range(len(objectives)), key=lambda at: forecasts[at].seconds) for forecasts in tried]
        self.singles = [forecasts[at] for forecasts, at in zip(tried, best)]
        pairs = [(layer_program(setting, kind, 2), objectives[at]) for kind, at in zip(kinds, best)]
        self.pairs = _in_threads(pairs, self._simulate)

    def _simulate(self, job: tuple[Program, str]) -> Forecast:
        """objective: of the shardings, the machine's file for seconds, nothing for bytes."""
        program, objective = job
        return simulate_text(program.text, self.machine, source=f"<{program.name}>", machine=objective, **self.options)

    def plan(self, config: ModelConfig) -> Plan:
        costs = [
            layer_costs(pair, self.setting, kind, self.machine) + optimizer_costs(self.optimizer, f"layers.{kind.first}")
            for pair, kind in zip(self.pairs, self.kinds)
        ]
        around = around_costs(self.around) + optimizer_costs(self.optimizer, "around")
        return _Composition(config, self.setting, self.machine, self.kinds, costs, around).plan(self._memory())

    def _memory(self) -> Memory:
        weights = [weight_bytes(self.setting, kind) for kind in self.kinds]
        saved = [
            self._input_bytes() if self.setting.mapping.recompute == "full" else max(pair.memory - single.memory - each, 0)
            for pair, single, each in zip(self.pairs, self.singles, weights)
        ]
        working = [
            max(single.memory - each - kept, 0) for single, each, kept in zip(self.singles, weights, saved)
        ]
        return memory_of(self.setting, self.kinds, saved, max(working))

    def _input_bytes(self) -> float:
        return boundary_bytes(self.setting)


def boundary_bytes(setting: Setting) -> float:
    """Of what a layer passes on, a device's part."""
    mapping = setting.mapping
    parts = mapping.cp * (mapping.tp if mapping.sequence_parallel else 1)
    return (4 if mapping.type == "f32" else 2) * mapping.micro_batch * mapping.sequence * setting.config.hidden_size / parts


def _in_threads(items: Iterable[Any], call: Callable[[Any], Any]) -> list[Any]:
    with ThreadPoolExecutor(2) as threads:
        return list(threads.map(call, items))


@dataclass
class _Composition:
    """A step, of its layers'."""

    config: ModelConfig
    setting: Setting
    machine: Machine
    kinds: Sequence[Kind]
    costs: Sequence[Costs]
    around: Costs

    def plan(self, memory: Memory) -> Plan:
        mapping = self.setting.mapping
        layers, around = self._layers(), _seconds(self.around.micro)
        passed = passage(mapping, self._slowest(layers), layers + around + self._send() * 2 * (mapping.pp - 1))
        sums = self._beside(self._of_step("sums"), mapping.sums_beside, _BACKWARD * passed.work / mapping.micro_batches)
        update = self._of_step("update")
        gathers = [row for row in update if row.is_collective]
        gathered = self._beside(gathers, mapping.gathers_beside, _FORWARD * passed.work / mapping.micro_batches)
        parts = {
            "micro-batches": passed.work,
            "pipeline's waiting": passed.bubble,
            "sums of gradients": sums,
            "optimizer": _seconds(row for row in update if not row.is_collective),
            "gathers of parameters": gathered,
        }
        exposed = self._exposed_in(passed) + sums + gathered
        return Plan(self.config, self.machine, mapping, parts, exposed, memory, tuple(self._lines()))

    def _layer(self, costs: Costs) -> float:
        """A layer's seconds of a micro-batch; its exchanges beside the kernels of another one where that is said."""
        sent, computed = _exchange(costs), _computed(costs)
        if not self.setting.mapping.exchange_beside or not self.machine.overlaps:
            return sent + computed
        beside = min(sent, computed)
        return max(sent, computed + beside * self.machine.overlap_tax)

    def _layers(self) -> float:
        """Of all layers, one after the other."""
        return sum(self._layer(costs) * kind.count for costs, kind in zip(self.costs, self.kinds))

    def _slowest(self, layers: float) -> float:
        """The stage that all others wait for: the last one, with the head, unless layers are not divisible by stages,
        when they are distributed as evenly as that goes."""
        mapping, around = self.setting.mapping, _seconds(self.around.micro)
        count = sum(kind.count for kind in self.kinds)
        if mapping.pp == 1 or count % (mapping.pp * mapping.stages):
            share = (layers + around) / mapping.pp
        else:
            share = layers / mapping.pp + _seconds(row for row in self.around.micro if row.layer != "embed")
        # Interleaved stages send while they compute.
        return share + (2 * self._send() if mapping.stages == 1 and mapping.schedule != "dualpipe" else 0.0)

    def _send(self) -> float:
        """Of a micro-batch, from a stage to the next."""
        mapping = self.setting.mapping
        if mapping.pp == 1:
            return 0.0
        axes = [(mapping.pp, mapping.stage_devices)]
        return self.machine.price("permute", axes, int(boundary_bytes(self.setting)))

    def _of_step(self, name: str) -> tuple[Row, ...]:
        """Rows of a stage's layers, and of what is around where that is more."""
        each = [getattr(costs.times(kind.count / self.setting.mapping.pp), name) for costs, kind in zip(self.costs, self.kinds)]
        return (*(row for rows in each for row in rows), *getattr(self.around, name))

    @staticmethod
    def _beside(rows: Sequence[Row], is_beside: bool, room: float) -> float:
        return max(_seconds(rows) - (room if is_beside else 0.0), 0.0)

    def _exposed_in(self, passed: Passage) -> float:
        """Of micro-batches."""
        mapping = self.setting.mapping
        waits = sum(
            (self._layer(costs) - _computed(costs)) * kind.count / mapping.pp for costs, kind in zip(self.costs, self.kinds)
        )
        sends = 2 * self._send() if mapping.stages == 1 and mapping.schedule != "dualpipe" else 0.0
        return mapping.micro_batches * (max(waits, 0.0) + sends)

    def _lines(self) -> list[Line]:
        mapping = self.setting.mapping
        lines: dict[tuple[str, str, str], float] = {}
        sending: dict[tuple[str, str, str], bool] = {}
        for costs, kind in [*zip(self.costs, self.kinds), (self.around, None)]:
            share = kind.count / mapping.pp if kind else 1.0
            for name, times in (("micro", mapping.micro_batches), ("sums", 1), ("update", 1)):
                for row in getattr(costs, name):
                    part = {"sums": "sums of gradients", "update": "optimizer"}.get(name) or _where(row, kind)
                    key = (part, row.kind, row.bound_text)
                    lines[key] = lines.get(key, 0.0) + row.seconds * share * times
                    sending[key] = row.is_collective
        made = [Line(*key, seconds, sending[key]) for key, seconds in lines.items()]
        return sorted(made, key=lambda line: -line.seconds)


def _where(row: Row, kind: Kind | None) -> str:
    part = row.layer.partition("/")[2] if row.layer.startswith("layers.") else row.layer
    part = part or "between"
    return part if kind is None or part in ("experts", "dense") else f"{part} ({kind.name})"


def _seconds(rows: Iterable[Row]) -> float:
    return sum(row.seconds for row in rows)


def _exchange(costs: Costs) -> float:
    return _seconds(row for row in costs.micro if row.is_collective)


def _computed(costs: Costs) -> float:
    return _seconds(row for row in costs.micro if not row.is_collective)
