# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What mappings take and hold at least: from their programs as far as these were made, and from bounds where not."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from shoal.planning.bounds import LayerBound, around_bound, update_bound
from shoal.planning.columns import Columns, column_of
from shoal.planning.course import Around, Spent, send_seconds, spent, spent_around, step_of
from shoal.planning.forecasts import Programs, boundary_bytes, key_of
from shoal.planning.mapping import Mapping
from shoal.planning.memory import Memory, memory_of
from shoal.planning.programs import Kind

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
        key = (part, key_of(part.partition(" ")[0], mapping))
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]

    def seconds(self, mapping: Mapping) -> float:
        """Of a step at least."""
        layers, around, updates = self._layers(mapping), self._around(mapping), self._updates(mapping)
        return float(self._seconds(mapping, (layers, around, updates, self._send(mapping))))

    def seconds_of_all(self, space: Sequence[Mapping]) -> np.ndarray:
        """The same of each mapping of a job."""
        layers = column_of(space, partial(key_of, "layer"), self._layers)
        around = column_of(space, partial(key_of, "around"), self._around)
        updates = column_of(space, partial(key_of, "optimizer"), self._updates)
        send = column_of(space, attrgetter("pp", "stage_devices", "tp", "cp", "micro_batch"), self._send)
        return self._seconds(Columns(space), (layers, around, updates, send))

    def _seconds(self, mapping: Mapping | Columns, parts: tuple[Any, ...]) -> Any:
        layers, around, updates, send = parts
        counted = [
            (Spent(sent, computed, *update), kind.count)
            for (sent, computed), update, kind in zip(layers, updates, self._programs.kinds)
        ]
        sent, computed, behind = around
        whole = Around(Spent(sent, computed, *updates[-1]), behind)
        return step_of(mapping, self._programs.machine, counted, whole, send).seconds

    def memory(self, mapping: Mapping) -> Memory:
        """Bytes at least; all there are once its layers were simulated."""
        saved, working = self._saved(mapping)
        return memory_of(mapping, self._programs.kinds, self._programs.held(mapping), saved, working)

    def memory_of_all(self, space: Sequence[Mapping]) -> Memory:
        """The same of each mapping of a job."""
        held = column_of(space, lambda mapping: (key_of("optimizer", mapping), mapping.pp > 1), self._programs.held)
        *saved, working = column_of(space, partial(key_of, "layer"), lambda mapping: (*self._saved(mapping)[0], self._saved(mapping)[1]))
        return memory_of(Columns(space), self._programs.kinds, held, saved, working)

    def _saved(self, mapping: Mapping) -> tuple[list[float], float]:
        """Bytes of a layer of each kind that its backward pass finds, and that the largest works with."""
        programs = self._programs
        if programs.has("layer", mapping):
            layers = programs.layers(mapping)
            return [layer.saved for layer in layers], max(layer.working for layer in layers)

        def made() -> list[float]:
            if mapping.recompute == "full":
                return [boundary_bytes(programs.config, mapping)] * len(programs.kinds)
            return [least.saved(mapping) for least in self._layers_least]

        return self._once("layer saved", mapping, made), 0.0

    def _layers(self, mapping: Mapping) -> list[tuple[float, float]]:
        """Seconds of a layer of each kind: sent, computed."""
        programs = self._programs
        if not programs.has("layer", mapping):
            return [self._layer(mapping, *each) for each in zip(programs.kinds, self._layers_least)]

        def made() -> list[tuple[float, float]]:
            return [(each.sent, each.computed) for each in (spent(layer.costs) for layer in programs.layers(mapping))]

        return self._once("layer made", mapping, made)

    def _layer(self, mapping: Mapping, kind: Kind, least: LayerBound) -> tuple[float, float]:
        key = kind.first, key_of("layer" if kind.has_experts else "dense", mapping)
        if key not in self._kept:
            self._kept[key] = least.seconds(self._programs.setting(mapping))
        return self._kept[key]

    def _around(self, mapping: Mapping) -> tuple[float, float, float]:
        """Seconds of what is around: sent, computed, and those of the head."""
        programs = self._programs

        def made() -> tuple[float, float, float]:
            if programs.has("around", mapping):
                each = spent_around(programs.around(mapping))
            else:
                each = around_bound(programs.setting(mapping), programs.machine)
            return each.spent.sent, each.spent.computed, each.behind

        return self._once("around made" if programs.has("around", mapping) else "around", mapping, made)

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

        return self._once("optimizer made" if programs.has("optimizer", mapping) else "optimizer", mapping, made)

    def _send(self, mapping: Mapping) -> float:
        return send_seconds(mapping, self._programs.machine, boundary_bytes(self._programs.config, mapping))
