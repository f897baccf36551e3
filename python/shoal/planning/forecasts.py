# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulated programs of a model's mappings, each made once.

Devices along dp that hold no expert of the same copy run the same layer, and exchange nothing while a micro-batch passes:
a layer's program is that of the fewest devices that its groups need, and mappings that differ in dp, pp, stages or the
number of micro-batches share it. With ZeRO-3 parameters lie over dp, and it is that of all devices of a stage.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from shoal.frontend.tracing import Program
from shoal.models import parameters
from shoal.models.config import ModelConfig
from shoal.planning.costs import Costs, around_costs, layer_costs, optimizer_costs
from shoal.planning.mapping import Mapping
from shoal.planning.memory import Held, held_of, weight_bytes
from shoal.planning.programs import Kind, Setting, around_program, kinds_of, layer_program, optimizer_program
from shoal.simulation.forecast import Forecast
from shoal.simulation.machines import Machine
from shoal.simulation.simulate import simulate_text

__all__ = ["Layer", "Programs", "boundary_bytes", "in_threads", "key_of", "layer_mapping"]


@dataclass(frozen=True)
class Layer:
    """A layer of a kind: rows of a micro-batch, bytes that its backward pass finds saved and that it works with."""

    costs: Costs
    saved: float
    working: float


def boundary_bytes(setting: Setting) -> int:
    """Of what a layer passes on, a device's part."""
    mapping = setting.mapping
    parts = mapping.cp * (mapping.tp if mapping.sequence_parallel else 1)
    width = 4 if mapping.type == "f32" else 2
    return width * mapping.micro_batch * mapping.sequence * setting.config.hidden_size // parts


def layer_mapping(mapping: Mapping) -> Mapping:
    """That of the program of its layers."""
    devices = math.lcm(mapping.tp * mapping.cp, mapping.etp * mapping.ep)
    return _alone(mapping, mapping.stage_devices if mapping.zero == 3 else devices)


def _around_mapping(mapping: Mapping) -> Mapping:
    """That of the program around layers, which knows no experts."""
    if mapping.zero == 3:
        return _alone(mapping, mapping.stage_devices)
    return _alone(mapping.replace(ep=1, etp=mapping.tp), mapping.tp * mapping.cp)


def _optimizer_mapping(mapping: Mapping) -> Mapping:
    """That of the optimizer's program, which knows no micro-batches."""
    return _alone(mapping.replace(recompute="none"), mapping.stage_devices, micro_batch=1)


_PROGRAM = attrgetter("tp", "cp", "sequence", "sequence_parallel", "cp_comm_type", "zero", "type", "fused_attention")
_ROWS = attrgetter("ep", "etp", "micro_batch", "recompute")


def key_of(part: str, mapping: Mapping) -> Hashable:
    """What a part's program depends on: mappings with equal ones share it. part: "layer", "around" or "optimizer"."""
    if part == "optimizer" or mapping.zero == 3:
        every = (mapping.stage_devices, mapping.ep, mapping.etp)
        return _PROGRAM(mapping), every, () if part == "optimizer" else _ROWS(mapping)
    return _PROGRAM(mapping), _ROWS(mapping) if part == "layer" else mapping.micro_batch


_MAPPINGS = {"layer": layer_mapping, "around": _around_mapping, "optimizer": _optimizer_mapping}


def _alone(mapping: Mapping, devices: int, **fields: Any) -> Mapping:
    """A stage of so many devices, with a micro-batch each; what says how stages follow each other is left out."""
    plain: dict[str, Any] = dict(schedule="1f1b", sums_beside=False, gathers_beside=False, exchange_beside=False)
    return mapping.replace(devices=devices, pp=1, stages=1, global_batch=None, **plain, **fields)


def in_threads(items: Sequence[Any], call: Callable[[Any], Any], count: int = 2) -> list[Any]:
    """What `call` makes of each, several at a time. Threads do not keep a process from ending."""
    made: list[Any] = [None] * len(items)
    failed: list[BaseException] = []
    left = iter(range(len(items)))
    lock = threading.Lock()

    def work() -> None:
        while not failed:
            with lock:
                place = next(left, None)
            if place is None:
                return
            try:
                made[place] = call(items[place])
            except BaseException as error:  # pylint: disable=broad-exception-caught
                failed.append(error)  # who waits raises it

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(count, len(items)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return made


class Programs:
    """Of a model on a machine. options: as of `forecast_of`."""

    def __init__(self, config: ModelConfig, machine: Machine, /, **options: Any):
        self.config, self.machine = config, machine
        self.kinds = kinds_of(config)
        self._shapes = parameters.shapes(config)
        # A table that is gathered whole, and work that is repeated, are what is to be forecast.
        found = {"quick_search": True, "max_replicated_bytes": -1, "warn_repeated_work": 0.0}
        self._options = {"target": "cuda", "cache": False, **found, **options}
        # Neither a plan by bytes nor one by seconds is always the faster one; of one layer as of two.
        by_both = ("", machine.path)
        self._objectives = (self._options.pop("machine"),) if "machine" in self._options else by_both
        self._made: dict[Hashable, Any] = {}
        # How many programs were.
        self.simulated = 0

    def setting(self, mapping: Mapping) -> Setting:
        """Of this model."""
        made = Setting(self.config, mapping)
        # The same for all of them.
        made.__dict__["shapes"] = self._shapes
        return made

    def make(self, mapping: Mapping, *parts: str) -> None:
        """Simulates what is not yet: of "layer", "around" and "optimizer" those that are named."""
        missing = [part for part in parts if not self.has(part, mapping)]
        rest = [part for part in missing if part != "layer"]
        jobs = [(self._traced(part, _MAPPINGS[part](mapping)), "") for part in rest]
        if "layer" in missing:
            layers, made = self._make_layers(layer_mapping(mapping), jobs)
            self._made["layer", key_of("layer", mapping)] = layers
        else:
            made = in_threads(jobs, self._simulate)
        for part, forecast in zip(rest, made):
            self._made[part, key_of(part, mapping)] = forecast

    def layers(self, mapping: Mapping) -> list[Layer]:
        """Of each kind; they were made."""
        return self._made["layer", key_of("layer", mapping)]

    def around(self, mapping: Mapping) -> Costs:
        """Of the embedding and the head, without the optimiser."""
        return around_costs(self._made["around", key_of("around", mapping)])

    def optimizer(self, mapping: Mapping) -> tuple[list[Costs], Costs]:
        """Of a layer of each kind, and of what is around."""
        made = self._made["optimizer", key_of("optimizer", mapping)]
        return [optimizer_costs(made, f"layers.{kind.first}") for kind in self.kinds], optimizer_costs(made, "around")

    def held(self, mapping: Mapping) -> Held:
        """Bytes of parameters and their state."""
        key = ("held", key_of("optimizer", mapping), mapping.pp > 1)
        if key not in self._made:
            self._made[key] = held_of(self.setting(mapping), self.kinds)
        return self._made[key]

    def has(self, part: str, mapping: Mapping) -> bool:
        """Whether it was made."""
        return (part, key_of(part, mapping)) in self._made

    def _traced(self, part: str, mapping: Mapping) -> Program:
        setting = self.setting(mapping)
        return around_program(setting) if part == "around" else optimizer_program(setting, self.kinds)

    def _simulate(self, job: tuple[Program, str]) -> Forecast:
        """objective: of the shardings, the machine's file for seconds, nothing for bytes."""
        program, objective = job
        self.simulated += 1
        return simulate_text(program.text, self.machine, source=f"<{program.name}>", machine=objective, **self._options)

    def _make_layers(
        self, mapping: Mapping, rest: Sequence[tuple[Program, str]]
    ) -> tuple[list[Layer], list[Forecast]]:
        """One layer of each kind says which shardings are faster, two what is saved; those of `rest` beside these."""
        setting = self.setting(mapping)
        ones = [layer_program(setting, kind, 1) for kind in self.kinds]
        singles = in_threads([(one, objective) for one in ones for objective in self._objectives], self._simulate)
        count = len(self._objectives)
        tried = [singles[at : at + count] for at in range(0, len(singles), count)]
        best = [min(range(count), key=lambda at: forecasts[at].seconds) for forecasts in tried]
        pairs = [
            (layer_program(setting, kind, 2), self._objectives[at]) for kind, at in zip(self.kinds, best)
        ]
        made = in_threads([*pairs, *rest], self._simulate)
        chosen = zip(self.kinds, (forecasts[at] for forecasts, at in zip(tried, best)), made)
        layers = [_layer(setting, kind, single, pair, self.machine) for kind, single, pair in chosen]
        return layers, made[len(pairs) :]


def _layer(setting: Setting, kind: Kind, single: Forecast, pair: Forecast, machine: Machine) -> Layer:
    weights = weight_bytes(setting, kind)
    again = setting.mapping.recompute == "full"
    saved = boundary_bytes(setting) if again else max(pair.memory - single.memory - weights, 0)
    return Layer(layer_costs(pair, setting, kind, machine), saved, max(single.memory - weights - saved, 0))
