# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Simulated programs of a model's mappings, each made once.

Devices along dp that hold no expert of the same copy run the same layer, and exchange nothing while a micro-batch passes:
a layer's program is that of the fewest devices that its groups need, and mappings that differ in dp, pp, stages or the
number of micro-batches share it. With ZeRO-3, too: each layer then has its parameters whole, and what gathers them and sums
their gradients is in the optimizer's programs: one of experts, one of all else, which other groups of experts share.
"""

from __future__ import annotations

import functools
import math
import operator
import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from shoal.frontend.tracing import Program
from shoal.models import parameters
from shoal.models.config import ModelConfig
from shoal.moe.layout import Layout
from shoal.planning.arithmetic import saved_in_8_bits
from shoal.planning.again import forward_rows, unsaved_bytes
from shoal.planning.beside_products import regathered_bytes
from shoal.planning.costs import Costs, around_costs, layer_costs, optimizer_costs
from shoal.planning.exchanges import with_filled_rows
from shoal.planning.kernels import LOSS
from shoal.planning.mapping import Mapping
from shoal.planning.memory import Held, Holding, gathered_bytes, weight_bytes
from shoal.planning.programs import Kind, Setting, around_program, kinds_of, layer_program, optimizer_program
from shoal.simulation.forecast import Forecast, Row
from shoal.simulation.machines import Machine, node_of
from shoal.simulation.simulate import simulate_text

__all__ = ["Layer", "Programs", "boundary_bytes", "in_threads", "key_of", "layer_mapping", "names_of"]


@dataclass(frozen=True)
class Layer:
    """A layer of a kind: rows of a micro-batch, bytes that its backward pass finds saved and that it works with, and rows of
    its forward pass as the program has them."""

    costs: Costs
    saved: float
    working: float
    forward: tuple[Row, ...] = ()


def boundary_bytes(config: ModelConfig, mapping: Mapping) -> int:
    """Of what a layer passes on, a device's part."""
    parts = mapping.cp * (mapping.tp if mapping.sequence_parallel else 1)
    return mapping.width * mapping.micro_batch * mapping.sequence * config.hidden_size // parts


def layer_mapping(mapping: Mapping, has_experts: bool = True) -> Mapping:
    """That of the program of its layers."""
    if not has_experts:
        return _without_experts(mapping)
    return _alone(mapping, math.lcm(mapping.tp * mapping.cp, mapping.etp * mapping.ep))


def _without_experts(mapping: Mapping) -> Mapping:
    return _alone(mapping.replace(ep=1, etp=mapping.tp, dispatch="alltoall"), mapping.tp * mapping.cp)


def _around_mapping(mapping: Mapping) -> Mapping:
    """That of the program around layers, which knows no experts."""
    return _without_experts(mapping.replace(recompute="none"))


def _optimizer_mapping(mapping: Mapping, of_experts: bool) -> Mapping:
    """That of the optimizer's programs, which know no micro-batches, and but for that of experts no groups of these."""
    groups = {} if of_experts else {"ep": 1, "etp": mapping.tp}
    return _alone(mapping.replace(recompute="none", dispatch="alltoall", **groups), mapping.stage_devices, micro_batch=1)


# What parts' programs depend on.
_EACH = ("tp", "cp", "sequence", "sequence_parallel", "cp_comm_type", "type", "fused_attention", "gathers_again")
_NAMES = {
    "layer": (*_EACH, "ep", "etp", "micro_batch", "recompute", "products_again", "dispatch", "stored"),
    "dense": (*_EACH, "micro_batch", "recompute", "products_again", "stored"),
    "around": (*_EACH, "micro_batch", "mtp"),
    "optimizer": (*_EACH, "stage_devices", "ep", "etp", "zero", "mtp", "sum_type"),
    # The optimizer's two programs.
    "experts": (*_EACH, "stage_devices", "ep", "etp", "zero", "sum_type"),
    "others": (*_EACH, "stage_devices", "zero", "mtp", "sum_type"),
}
_KEYS = {part: attrgetter(*names) for part, names in _NAMES.items()}


def names_of(part: str) -> tuple[str, ...]:
    """Fields and properties of a mapping that a part's program depends on. part: "layer", of experts, "dense", "around",
    "optimizer", or of its two programs "experts" and "others"."""
    return _NAMES[part]


def key_of(part: str, mapping: Mapping) -> Hashable:
    """Those of a mapping: mappings with equal ones share the program."""
    return _KEYS[part](mapping)


def _alone(mapping: Mapping, devices: int, **fields: Any) -> Mapping:
    """A stage of so many devices, with a micro-batch each; what says how stages follow each other is left out."""
    plain: dict[str, Any] = dict(schedule="1f1b", sums_beside=False, gathers_beside=False, exchange_beside=False)
    return mapping.replace(devices=devices, pp=1, stages=1, global_batch=None, **plain, **fields)


# Parts by how long their programs take to simulate, the longest first.
_ORDER = ("layer", "others", "dense", "experts", "around")


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


# What is made of a mapping: "around", "optimizer", a layer of a kind, or "layer" of all of these.
Part = str | Kind


@dataclass(frozen=True)
class _Job:
    """A program to simulate: its part, what it is known by, its mapping, and what is kept of its forecast."""

    part: str
    key: Hashable
    mapping: Mapping
    program: Callable[[], Program]
    read: Callable[[Forecast], Any] = lambda forecast: forecast


class Programs:
    """Of a model on a machine. options: as of `forecast_of`, `verify_each` of `simulate_text`, which is off here, as all
    programs come from one place, and `with_experts`, `by_products` and `filled` of `Setting`."""

    def __init__(self, config: ModelConfig, machine: Machine, /, **options: Any):
        self.config, self.machine = config, machine
        self.kinds = kinds_of(config)
        self.shapes = parameters.shapes(config)
        self._node = node_of(machine)
        self._layouts: dict[Hashable, Layout] = {}
        # A table that is gathered whole, and work that is repeated, are what is to be forecast.
        found = {"quick_search": True, "max_replicated_bytes": -1, "warn_repeated_work": 0.0}
        # What is held between forward and backward is known of an order that has one before the other.
        found["overlap_memory"] = 0
        # Bytes choose shardings.
        self._options = {"target": "cuda", "cache": False, "verify_each": False, "machine": "", **found, **options}
        self._own = {name: self._options.pop(name) for name in ("with_experts", "by_products", "filled") if name in self._options}
        self._made: dict[Hashable, Any] = {}
        self._holding = Holding(self.kinds)
        has_experts = any(kind.has_experts for kind in self.kinds)
        self._of_optimizer = ("others", "experts") if has_experts else ("others",)
        # How many programs were.
        self.simulated = 0

    def setting(self, mapping: Mapping) -> Setting:
        """Of this model."""
        made = Setting(self.config, mapping, self._node, layouts=self._layouts, **self._own)
        # The same for all of them.
        made.__dict__["shapes"] = self.shapes
        return made

    def make(self, mapping: Mapping, *parts: str) -> None:
        """Simulates what is not yet: of "layer", "around" and "optimizer" those that are named."""
        self.make_all([(mapping, part) for part in parts])

    def make_all(self, wanted: Iterable[tuple[Mapping, Part]]) -> None:
        """The same of parts of several mappings at once; of a kind of layers that alone."""
        jobs: dict[Hashable, _Job] = {}
        for mapping, part in wanted:
            for job in self._jobs(mapping, part):
                if job.key not in self._made:
                    jobs.setdefault(job.key, job)
        # Those that take longest begin first.
        ordered = sorted(jobs.values(), key=lambda job: _ORDER.index(job.part))
        made = in_threads(ordered, self._simulate)
        self.simulated += len(ordered)
        for job, forecast in zip(ordered, made):
            self._made[job.key] = job.read(forecast)

    def layers(self, mapping: Mapping) -> list[Layer]:
        """Of each kind; they were made."""
        return [self.layer(kind, mapping) for kind in self.kinds]

    def layer(self, kind: Kind, mapping: Mapping) -> Layer:
        """Of this kind; it was made."""
        return self._made[self.key(kind, mapping)]

    def around(self, mapping: Mapping) -> Costs:
        """Of the embedding and the head, without the optimiser."""
        return around_costs(self._made["around", key_of("around", mapping)])

    def head_working(self, mapping: Mapping) -> float:
        """Bytes that the head works with beside parameters, while what all layers save is held: of one stage, as in a
        pipeline the first one holds most."""
        if mapping.pp > 1 or not self.has("around", mapping):
            return 0.0
        made = self._made["around", key_of("around", mapping)]
        whole = self.held(mapping)[0][-1]
        return max(made.memory - whole, 0.0) + (whole if mapping.zero >= 3 else 0.0)

    def optimizer(self, mapping: Mapping) -> tuple[list[Costs], Costs]:
        """Of a layer of each kind, and of what is around."""
        made = [self._made[key] for key in self._keys("optimizer", mapping)]

        def costs(name: str) -> Costs:
            return functools.reduce(operator.add, (optimizer_costs(each, name) for each in made))

        return [costs(f"layers.{kind.first}") for kind in self.kinds], costs("around")

    def held(self, mapping: Mapping) -> Held:
        """Bytes of parameters and their state."""
        return self._holding(self.setting(mapping))

    def has(self, part: Part, mapping: Mapping) -> bool:
        """Whether it was made."""
        return all(key in self._made for key in self._keys(part, mapping))

    def _keys(self, part: Part, mapping: Mapping) -> list[Hashable]:
        """Of all its programs."""
        if part != "optimizer":
            return [self.key(part, mapping)]
        return [self.key(each, mapping) for each in self._of_optimizer]

    def key(self, part: Part, mapping: Mapping) -> Hashable:
        """What its program is known by: "around", "optimizer", or a kind of layers."""
        if isinstance(part, Kind):
            return part.first, key_of("layer" if part.has_experts else "dense", mapping)
        return part, key_of(part, mapping)

    def _jobs(self, mapping: Mapping, part: Part) -> list[_Job]:
        if isinstance(part, Kind):
            return [self._of_layer(part, mapping)]
        if part == "layer":
            return [self._of_layer(kind, mapping) for kind in self.kinds]
        if part == "around":
            alone = _around_mapping(mapping)
            return [_Job(part, self.key(part, mapping), alone, lambda: around_program(self.setting(alone)))]
        return [self._of_parameters(each, mapping) for each in self._of_optimizer]

    def _of_parameters(self, part: str, mapping: Mapping) -> _Job:
        of_experts = part == "experts"
        alone = _optimizer_mapping(mapping, of_experts)
        return _Job(part, self.key(part, mapping), alone, lambda: optimizer_program(self.setting(alone), self.kinds, of_experts))

    def _of_layer(self, kind: Kind, mapping: Mapping) -> _Job:
        setting = self.setting(layer_mapping(mapping, kind.has_experts))

        def read(forecast: Forecast) -> Layer:
            return _layer(setting, kind, with_filled_rows(forecast, setting), self.machine)

        part = "layer" if kind.has_experts else "dense"
        return _Job(part, self.key(kind, mapping), setting.mapping, lambda: layer_program(setting, kind), read)

    def _simulate(self, job: _Job) -> Forecast:
        program = job.program()
        return simulate_text(program.text, self.machine, source=f"<{program.name}>", **self._options)


def _layer(setting: Setting, kind: Kind, made: Forecast, machine: Machine) -> Layer:
    """What is live through its loss is saved, and so is what it is given: that alone where it is computed again, attention's
    calls, too."""
    (held,) = (bytes for layer, bytes in made.held if layer == LOSS)
    if setting.mapping.recompute == "full":
        held = 0
    held -= regathered_bytes(setting, kind) + unsaved_bytes(made, setting)
    # One of two bytes of each.
    held -= saved_in_8_bits(setting.shapes["layers"][kind.first], setting.config, setting.mapping)
    weights, saved = weight_bytes(setting, kind), held + boundary_bytes(setting.config, setting.mapping)
    working = max(made.memory - weights - saved, 0) + gathered_bytes(setting, kind)
    return Layer(layer_costs(made, setting, kind, machine), saved, working, forward_rows(made))
