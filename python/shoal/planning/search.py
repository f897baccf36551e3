# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The best mapping of a space: best bound first, programs only where a bound leaves hope.

A mapping is a node with a bound that rises as its programs are made: what is around layers, a layer, the optimiser. Who has
all of them, and no other a lower bound, is the best (A*, Hart, Nilsson and Raphael, 1968).
"""

from __future__ import annotations

import contextlib
import functools
import heapq
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.errors import ShoalError
from shoal.models.config import ModelConfig
from shoal.planning.columns import Space
from shoal.planning.forecasts import Part, Programs, names_of
from shoal.planning.job import Plan, plan_of
from shoal.planning.least import Bounds
from shoal.planning.mapping import Mapping
from shoal.planning.memory import Memory
from shoal.planning.programs import Kind

__all__ = ["Found", "Progress", "search"]

# Steps that differ by less take equally long.
_EQUAL = 1e-9


@dataclass(frozen=True)
class Progress:
    """Programs that were simulated; seconds of the best plan, and of the lowest bound of others."""

    programs: int
    best: float | None
    bound: float


@dataclass
class Found:
    """What a search has seen.

    plans: those that were simulated and fit, the best first. bound: seconds that no other mapping than the first `proven` is
    below.
    large: the one of the least memory of those that do not fit, with its bytes, some of which are bounds.
    """

    space: int = 0
    too_large: int = 0
    by_bound: int = 0
    without_program: int = 0
    plans: list[Plan] = field(default_factory=list)
    bound: float = 0.0
    proven: int = 1
    large: tuple[Mapping, Memory] | None = None

    @property
    def simulated(self) -> int:
        """Mappings of which all programs were."""
        return self.space - self.too_large - self.by_bound - self.without_program

    @property
    def gap(self) -> float:
        """By what share another mapping may be faster than the last of those that are proven."""
        last = self.plans[min(self.proven, len(self.plans)) - 1]
        return max(1 - self.bound / last.seconds, 0.0)

    def add_large(self, mapping: Mapping, memory: Memory, count: int = 1) -> None:
        """So many that do not fit, of which this is one of the smallest."""
        self.too_large += count
        if self.large is None or memory.total < self.large[1].total:
            self.large = mapping, memory


# Seconds at least, bytes at least, axes, place in the space.
Node = tuple[float, float, int, int]
# So many programs are made at once, one a core, and beside them so many that take little; further ones are looked for among
# so many of the next mappings.
_AT_ONCE, _LITTLE, _NEXT = 2, 2, 32
# Others that are shown beside the best are behind all that is left by this share at most, or so many times more is made.
_OTHERS_WITHIN, _OTHERS_TIMES = 0.08, 3


class _Search:
    def __init__(self, config: ModelConfig, programs: Programs, within: float, told: Callable[[Progress], None]):
        self.config, self.programs, self.within, self.told = config, programs, within, told
        self.bounds = Bounds(programs)
        # Layers of which there are most say most.
        self.layers = sorted(programs.kinds, key=lambda kind: -kind.count)
        self.found = Found()

    def run(self, space: Space, top: int, proven: int) -> Found:
        self.space, self.proven, self.found.proven = space, proven, proven
        self.found.space = len(space)
        self.queue = self._nodes()
        heapq.heapify(self.queue)
        while self.queue and not self._is_done():
            self._step(self._limit())
        if self.found.plans:
            self._fill(top)
        self._raise()
        self.found.bound = self.queue[0][0] if self.queue else float("inf")
        self.found.by_bound = len(self.queue)
        self.found.plans.sort(key=_order)
        return self.found

    def _raise(self) -> None:
        """The lowest bound is one by all that was simulated, also by what others asked for."""
        while self.queue and (node := self._node(self.queue[0][3])) != self.queue[0]:
            if node is None:
                heapq.heappop(self.queue)
            else:
                heapq.heapreplace(self.queue, node)

    def _fill(self, top: int) -> None:
        """Further plans to show, of mappings of which most layers are known."""
        others = self._best_known(top)
        for _ in range(_OTHERS_TIMES):
            if not self.queue or self._is_near(others, top):
                break
            self._step_once()
            others = self._best_known(top)
        chosen = [node[3] for node in others]
        # Where one has no program, those are shown that have all.
        with contextlib.suppress(ShoalError):
            self.programs.make_all((self.space[number], part) for number in chosen for part in ("layer", "optimizer"))
        self._take({number for number in chosen if not self._missing(number) and self._node(number, count=False)})

    def _step_once(self) -> None:
        """Until something is made."""
        before = self.programs.simulated
        while self.queue and self.programs.simulated == before:
            self._step(float("inf"))

    def _is_near(self, others: list[Node], top: int) -> bool:
        seconds = sorted([*(plan.seconds for plan in self.found.plans), *(node[0] for node in others)])
        return len(seconds) >= top and seconds[top - 1] * (1 - _OTHERS_WITHIN) <= self.queue[0][0]

    def _take(self, numbers: set[int]) -> None:
        """They are plans."""
        self.queue = [node for node in self.queue if node[3] not in numbers]
        heapq.heapify(self.queue)
        self.found.plans += [plan_of(self.config, self.programs, self.space[number]) for number in sorted(numbers)]

    def _best_known(self, top: int) -> list[Node]:
        """Those that would be among so many plans as are to be shown."""
        plans = [plan.seconds for plan in self.found.plans]
        chosen: list[Node] = []
        for node in sorted(self._known()):
            if len(chosen) + sum(seconds <= node[0] for seconds in plans) >= top:
                break
            chosen.append(node)
        return chosen

    def _known(self) -> Iterator[Node]:
        """Those of which most layers are."""
        left = {node[3] for node in self.queue}
        for mapping, numbers in self._sharing:
            if self.programs.has(self.layers[0], mapping):
                for number in left.intersection(numbers):
                    if self.programs.has("around", self.space[number]) and (node := self._node(number, count=False)):
                        yield node

    @functools.cached_property
    def _sharing(self) -> list[tuple[Mapping, list[int]]]:
        """Of mappings that share most layers one, and the numbers of all."""
        firsts, classes = self.space.classes(names_of("layer" if self.layers[0].has_experts else "dense"))
        ends = np.cumsum(np.bincount(classes))[:-1]
        numbers = np.split(np.argsort(classes, kind="stable"), ends)
        return [(self.space[first], each.tolist()) for first, each in zip(firsts, numbers)]

    def _nodes(self) -> list[Node]:
        """Of all mappings but those that are too large, which are counted."""
        totals = self.bounds.memory_of_all(self.space).total
        fits = totals <= self.programs.machine.memory
        if not fits.all():
            smallest = self.space[int(np.where(fits, np.inf, totals).argmin())]
            self.found.add_large(smallest, self.bounds.memory(smallest), int((~fits).sum()))
        numbers = np.flatnonzero(fits)
        if not len(numbers):
            return []
        left = self.space.take(numbers)
        columns = self.bounds.seconds_of_all(left), totals[fits], _axes(left), numbers
        return list(zip(*(column.tolist() for column in columns)))

    def _node(self, number: int, count: bool = True) -> Node | None:
        """None where it is too large, which is counted."""
        mapping = self.space[number]
        memory = self.bounds.memory(mapping)
        if memory.total > self.programs.machine.memory:
            if count:
                self.found.add_large(mapping, memory)
            return None
        return self.bounds.seconds(mapping), memory.total, _axes(mapping), number

    def _limit(self) -> float:
        """Seconds that further mappings must be below."""
        return self._last() * (1 - self.within) * (1 + _EQUAL)

    def _last(self) -> float:
        """Of the plans that are to be proven the last one's."""
        if len(self.found.plans) < self.proven:
            return float("inf")
        return sorted(plan.seconds for plan in self.found.plans)[self.proven - 1]

    def _is_done(self) -> bool:
        best = min((plan.seconds for plan in self.found.plans), default=None)
        self.told(Progress(self.programs.simulated, best, self.queue[0][0]))
        return self.queue[0][0] > self._limit()

    def _step(self, limit: float) -> None:
        """The first node is a plan, or it and others that come next, none above the limit, have one more program."""
        number = self.queue[0][3]
        node = self._node(number)
        if node is None:
            heapq.heappop(self.queue)
        elif not self._missing(number):
            self._take({number})
        elif node > self.queue[0]:
            # Another mapping's programs were its own, too.
            heapq.heapreplace(self.queue, node)
        else:
            self._make(limit)

    def _missing(self, number: int) -> Part | None:
        """The part that it has no program of: what is around layers first, which many share; the optimiser's last, which
        few seconds depend on."""
        parts = ("around", *self.layers, "optimizer")
        return next((part for part in parts if not self.programs.has(part, self.space[number])), None)

    def _make(self, limit: float) -> None:
        near = self._near(limit)
        wanted = self._wanted(near)
        try:
            self.programs.make_all(wanted)
            self._take_best(near)
        except ShoalError:
            self._make_first()

    def _make_first(self) -> None:
        """The first node's part by itself, where one of several has no program."""
        number = self.queue[0][3]
        try:
            self.programs.make_all([(self.space[number], self._missing(number))])
        except ShoalError:
            heapq.heappop(self.queue)
            self.found.without_program += 1

    def _near(self, limit: float) -> list[Node]:
        """The first node, and others that come next by what is known now."""
        first, *others = heapq.nsmallest(_NEXT, self.queue)
        risen = (self._node(node[3], count=False) for node in others)
        return [first, *sorted(node for node in risen if node and node[0] <= limit)]

    def _wanted(self, near: Sequence[Node]) -> list[tuple[Mapping, Part]]:
        """A part of each, as there is room; none behind a node of which all layers are known and that is better than the
        plans: it comes first whatever others take. Its optimizer alone, where the search may end with it."""
        wanted: dict[Hashable, tuple[Mapping, Part]] = {}
        room = {"little": _LITTLE, "layer": _AT_ONCE, "optimizer": 1}
        for node in near:
            mapping, part = self.space[node[3]], self._missing(node[3])
            if part not in (None, "optimizer"):
                self._add(wanted, room, (mapping, part))
            elif node[0] < self._last():
                if part and node[0] * (1 - self.within) < near[0][0]:
                    return [(mapping, part)]
                if part:
                    self._add(wanted, room, (mapping, part))
                break
        return list(wanted.values())

    def _add(self, wanted: dict[Hashable, tuple[Mapping, Part]], room: dict[str, int], one: tuple[Mapping, Part]) -> None:
        mapping, part = one
        key, size = self.programs.key(part, mapping), _size_of(part)
        if room[size] and key not in wanted:
            wanted[key] = one
            room[size] -= 1

    def _take_best(self, near: Sequence[Node]) -> None:
        """The best of those of which all is known now is a plan, where it is better than those there are."""
        made = [node[3] for node in near if not self._missing(node[3])]
        known = [node for number in made if (node := self._node(number, count=False))]
        if known and min(known)[0] < self._last():
            self._take({min(known)[3]})


def _size_of(part: Part) -> str:
    """How much of a core's time its program takes."""
    if part == "optimizer":
        return part
    return "layer" if isinstance(part, Kind) and part.has_experts else "little"


def _axes(mapping: Mapping | Space) -> Any:
    """How many; of a space a column."""
    return sum(size > 1 for size in (mapping.tp, mapping.cp, mapping.ep, mapping.etp, mapping.pp, mapping.dp))


def _order(plan: Plan) -> tuple[float, float, int]:
    """Equal cost prefers less memory, then fewer axes."""
    return float(f"{plan.seconds:.9g}"), plan.memory.total, _axes(plan.mapping)


def search(
    config: ModelConfig, programs: Programs, space: Space, within: float = 0.0, top: int = 1, proven: int = 1,
    told: Callable[[Progress], None] = lambda progress: None,
) -> Found:  # fmt: skip
    """The best of a space, or one that no other is faster than by more than the share `within`.

    programs: of this model; what they have already is not made again. proven: of how many plans that holds: no further
    mapping is faster by more than the last of them. top: how many plans to make, the others of mappings whose layers were
    simulated anyway. told: of each step. Nothing in it depends on time or threads.
    """
    return _Search(config, programs, within, told).run(space, top, proven)
