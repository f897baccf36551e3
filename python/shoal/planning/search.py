# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The best mapping of a space: best bound first, programs only where a bound leaves hope.

A mapping is a node with a bound that rises as its programs are made: what is around layers, a layer, the optimiser. Who has
all of them, and no other a lower bound, is the best (A*, Hart, Nilsson and Raphael, 1968).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.errors import ShoalError
from shoal.models.config import ModelConfig
from shoal.planning.forecasts import Programs, key_of
from shoal.planning.job import Plan, plan_of
from shoal.planning.least import Bounds
from shoal.planning.mapping import Mapping
from shoal.planning.memory import Memory

__all__ = ["Found", "Progress", "search"]

# Steps that differ by less take equally long.
_EQUAL = 1e-9
_PARTS = ("around", "layer", "optimizer")


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
# Programs of so many mappings are made at once, one a core; further ones are looked for among so many of the next.
_AT_ONCE, _NEXT = 2, 8


class _Search:
    def __init__(self, config: ModelConfig, programs: Programs, within: float, told: Callable[[Progress], None]):
        self.config, self.programs, self.within, self.told = config, programs, within, told
        self.bounds = Bounds(programs)
        self.found = Found()

    def run(self, space: Sequence[Mapping], top: int, proven: int) -> Found:
        self.space, self.proven, self.found.proven = space, proven, proven
        self.found.space = len(space)
        self.queue = self._nodes()
        heapq.heapify(self.queue)
        while self.queue and not self._is_done():
            self._step()
        self.found.bound = self.queue[0][0] if self.queue else float("inf")
        self._fill(top)
        self.found.by_bound = len(self.queue)
        self.found.plans.sort(key=_order)
        return self.found

    def _fill(self, top: int) -> None:
        """Further plans to show, of mappings whose layers are known."""
        if not self.found.plans:
            return
        known = []
        for _, _, _, number in sorted(self.queue):
            mapping = self.space[number]
            if all(self.programs.has(part, mapping) for part in _PARTS[:2]) and (node := self._node(number, count=False)):
                known.append(node)
        chosen = sorted(known)[: max(top - len(self.found.plans), 0)]
        self.programs.make_all((self.space[node[3]], _PARTS[2]) for node in chosen)
        numbers = {node[3] for node in chosen}
        self.queue = [node for node in self.queue if node[3] not in numbers]
        self.found.plans += [plan_of(self.config, self.programs, self.space[number]) for number in sorted(numbers)]

    def _nodes(self) -> list[Node]:
        """Of all mappings but those that are too large, which are counted."""
        totals = self.bounds.memory_of_all(self.space).total
        fits = totals <= self.programs.machine.memory
        if not fits.all():
            smallest = self.space[np.where(fits, np.inf, totals).argmin()]
            self.found.add_large(smallest, self.bounds.memory(smallest), int((~fits).sum()))
        numbers = np.flatnonzero(fits).tolist()
        left = [self.space[number] for number in numbers]
        if not left:
            return []
        seconds = self.bounds.seconds_of_all(left).tolist()
        return list(zip(seconds, totals[fits].tolist(), map(_axes, left), numbers))

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
        if len(self.found.plans) < self.proven:
            return float("inf")
        last = sorted(plan.seconds for plan in self.found.plans)[self.proven - 1]
        return last * (1 - self.within) * (1 + _EQUAL)

    def _is_done(self) -> bool:
        best = min((plan.seconds for plan in self.found.plans), default=None)
        self.told(Progress(self.programs.simulated, best, self.queue[0][0]))
        return self.queue[0][0] > self._limit()

    def _step(self) -> None:
        """The first node is a plan, or it and others that come next have one more program."""
        number = self.queue[0][3]
        node = self._node(number)
        if node is None:
            heapq.heappop(self.queue)
        elif not self._missing(number):
            heapq.heappop(self.queue)
            self.found.plans.append(plan_of(self.config, self.programs, self.space[number]))
        elif node > self.queue[0]:
            # Another mapping's programs were its own, too.
            heapq.heapreplace(self.queue, node)
        else:
            self._make()

    def _missing(self, number: int) -> str | None:
        """The part that it has no program of: what is around layers first, which many share; the optimiser's last, which
        few seconds depend on."""
        return next((part for part in _PARTS if not self.programs.has(part, self.space[number])), None)

    def _make(self) -> None:
        wanted = self._wanted()
        try:
            self.programs.make_all(wanted)
        except ShoalError:
            self._make_first(wanted[0])

    def _make_first(self, wanted: tuple[Mapping, str]) -> None:
        """By itself, where one of several has no program."""
        try:
            self.programs.make_all([wanted])
        except ShoalError:
            heapq.heappop(self.queue)
            self.found.without_program += 1

    def _wanted(self) -> list[tuple[Mapping, str]]:
        """Of the first node, and of others that would come next if it had the program: they lack another one."""
        limit, keys, wanted = self._limit(), set(), []
        for _, _, _, number in heapq.nsmallest(_NEXT, self.queue):
            mapping, part = self.space[number], self._missing(number)
            if part is None or (wanted and not self._is_next(number, limit)):
                continue
            key = part, key_of(part, mapping)
            if key not in keys:
                keys.add(key)
                wanted.append((mapping, part))
            if len(wanted) == _AT_ONCE:
                break
        return wanted

    def _is_next(self, number: int, limit: float) -> bool:
        node = self._node(number, count=False)
        return node is not None and node[0] <= limit


def _axes(mapping: Mapping) -> int:
    return sum(size > 1 for size in (mapping.tp, mapping.cp, mapping.ep, mapping.etp, mapping.pp, mapping.dp))


def _order(plan: Plan) -> tuple[float, float, int]:
    """Equal cost prefers less memory, then fewer axes."""
    return float(f"{plan.seconds:.9g}"), plan.memory.total, _axes(plan.mapping)


def search(
    config: ModelConfig, programs: Programs, space: Sequence[Mapping], within: float = 0.0, top: int = 1, proven: int = 1,
    told: Callable[[Progress], None] = lambda progress: None,
) -> Found:  # fmt: skip
    """The best of a space, or one that no other is faster than by more than the share `within`.

    programs: of this model; what they have already is not made again. proven: of how many plans that holds: no further
    mapping is faster by more than the last of them. top: how many plans to make, the others of mappings whose layers were
    simulated anyway. told: of each step. Nothing in it depends on time or threads.
    """
    return _Search(config, programs, within, told).run(space, top, proven)
