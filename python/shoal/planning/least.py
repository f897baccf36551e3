# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mappings take and hold at least: from their programs as far as these were made, and from bounds where not."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import reduce
from typing import Any

import numpy as np

from shoal.planning.bounds import LayerBound, around_bound, update_bound
from shoal.planning.columns import Space
from shoal.planning.course import Around, Spent, send_seconds, spent, spent_around, step_of
from shoal.planning.forecasts import Layer, Programs, boundary_bytes, key_of, names_of
from shoal.planning.mapping import Mapping
from shoal.planning.memory import Memory, memory_of

__all__ = ["Bounds"]


class Bounds:
    """Of mappings, from programs as far as they were made and from bounds where not."""

    def __init__(self, programs: Programs):
        self._programs = programs
        self._layers_least = [
            LayerBound(programs.config, programs.shapes, kind, programs.machine) for kind in programs.kinds
        ]
        self._kept: dict[Hashable, Any] = {}

    def _once(self, part: str, mapping: Mapping, make: Callable[[], Any]) -> Any:
        """Of a part, from its program or without."""
        key = self._programs.has(part, mapping), part, key_of(part, mapping)
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def seconds(self, mapping: Mapping) -> float:
        """Of a step at least."""
        layers, around, updates = self._layers(mapping), self._around(mapping), self._updates(mapping)
        return float(self._seconds(mapping, (layers, around, updates, self._send(mapping))))

    def seconds_of_all(self, space: Space) -> np.ndarray:
        """The same of each mapping of a job."""
        layers = space.column(names_of("layer"), self._layers)
        around = space.column(names_of("around"), self._around)
        updates = space.column(names_of("optimizer"), self._updates)
        send = space.column(("pp", "stage_devices", "tp", "cp", "micro_batch"), self._send)
        return self._seconds(space, (layers, around, updates, send))

    def _seconds(self, mapping: Mapping | Space, parts: tuple[Any, ...]) -> Any:
        layers, around, updates, send = parts
        counted = [
            (Spent(sent, computed, *update), kind.count)
            for (sent, computed), update, kind in zip(layers, updates, self._programs.kinds)
        ]
        sent, computed, behind = around
        whole = Around(Spent(sent, computed, *updates[-1]), behind)
        return step_of(mapping, self._programs.machine, counted, whole, send).seconds

    def memory(self, mapping: Mapping) -> Memory:
        """Bytes at least; all there are once its layers and what is around them were simulated."""
        parts = self._programs.held(mapping), self._saved(mapping), self._programs.head_working(mapping)
        return self._memory(mapping, *parts)

    def memory_of_all(self, space: Space) -> Memory:
        """The same of each mapping of a job."""
        held = space.column((*names_of("optimizer"), "state_types", "casts_masters"), self._programs.held)
        head = space.column((*names_of("around"), "stage_devices", "zero"), self._programs.head_working)
        return self._memory(space, held, space.column(names_of("layer"), self._saved), head)

    def _memory(self, mapping: Mapping | Space, held: Any, layers: Any, head: Any) -> Memory:
        saved, working = ([each[place] for each in layers] for place in range(2))
        return memory_of(mapping, self._programs.kinds, held, saved, reduce(np.maximum, working, head))

    def _saved(self, mapping: Mapping) -> list[tuple[float, float]]:
        """Bytes of a layer of each kind that its backward pass finds, and that it works with."""
        return self._of_kinds("saved", mapping, lambda layer: (layer.saved, layer.working), self._saved_least)

    def _saved_least(self, mapping: Mapping, least: LayerBound) -> tuple[float, float]:
        if mapping.recompute == "full":
            return boundary_bytes(self._programs.config, mapping), 0.0
        return least.saved(mapping), 0.0

    def _layers(self, mapping: Mapping) -> list[tuple[float, float]]:
        """Seconds of a layer of each kind: sent, computed."""

        def made(layer: Layer) -> tuple[float, float]:
            each = spent(layer.costs)
            return each.sent, each.computed

        return self._of_kinds("seconds", mapping, made, lambda mapping, least: least.seconds(self._programs.setting(mapping)))

    def _of_kinds(
        self, what: str, mapping: Mapping, made: Callable[[Layer], Any], least: Callable[[Mapping, LayerBound], Any]
    ) -> list[Any]:
        programs, found = self._programs, []
        for kind, bound in zip(programs.kinds, self._layers_least):
            key = programs.key(kind, mapping)
            is_made = programs.has(kind, mapping)
            if (what, is_made, key) not in self._kept:
                value = made(programs.layer(kind, mapping)) if is_made else least(mapping, bound)
                self._kept[what, is_made, key] = value
            found.append(self._kept[what, is_made, key])
        return found

    def _around(self, mapping: Mapping) -> tuple[float, float, float]:
        """Seconds of what is around: sent, computed, and those of the head."""
        programs = self._programs

        def made() -> tuple[float, float, float]:
            if programs.has("around", mapping):
                each = spent_around(programs.around(mapping))
            else:
                each = around_bound(programs.setting(mapping), programs.machine)
            return each.spent.sent, each.spent.computed, each.behind

        return self._once("around", mapping, made)

    def _updates(self, mapping: Mapping) -> list[tuple[float, float, float]]:
        """Seconds of a step, of a layer of each kind and last of what is around: sums, the optimiser's kernels, gathers."""
        programs = self._programs

        def made() -> list[tuple[float, float, float]]:
            if programs.has("optimizer", mapping):
                layers, around = programs.optimizer(mapping)
                each = [spent(costs) for costs in (*layers, around)]
            else:
                each = update_bound(programs.setting(mapping), programs.kinds, programs.machine)
            return [(update.sums, update.update, update.gathers) for update in each]

        return self._once("optimizer", mapping, made)

    def _send(self, mapping: Mapping) -> float:
        return send_seconds(mapping, self._programs.machine, boundary_bytes(self._programs.config, mapping))
