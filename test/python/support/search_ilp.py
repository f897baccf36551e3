# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The choice of shardings as an integer program, solved by HiGHS: an oracle for the compiler's own search.

The formulation is Alpa's (Zheng et al., OSDI 2022, section 4.2): a variable for each choice of an op, one of which is 1, and
variables for what is moved between a maker's choice and a user's. There each user pays a move of its own; here users of a value
share its versions, so what a value costs is a cheapest arborescence from the layout that it is made in to the layouts that are
needed, which passes through these alone. That is the multi-commodity flow formulation of Steiner arborescences (Wong, "A dual
ascent approach for Steiner tree problems on a directed graph", Mathematical Programming 28, 1984): a unit flows from the made
layout to each user's, and an arc is paid once, however many flows take it. Nothing here is the compiler's but the tables that
`shoal-search-problem` prints (test/SearchProblem).
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.optimize
import scipy.sparse

ROOT = Path(__file__).resolve().parents[3]
TOOL = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release")) / "test/bin/shoal-search-problem"


@dataclasses.dataclass(frozen=True)
class Choice:
    """How an op may be split: what that costs but for moves, bytes of a device that it holds, and layouts, by number."""

    cost: float
    held: float
    operands: tuple[int, ...]
    results: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Op:
    choices: tuple[Choice, ...]
    operands: tuple[int, ...]
    results: tuple[int, ...]
    what: str = ""


@dataclasses.dataclass(frozen=True)
class Problem:
    """Ops in order; `prices` of a value: (from, to) -> what the move costs, where there is one."""

    ops: tuple[Op, ...]
    prices: tuple[dict[tuple[int, int], float], ...]
    layouts: tuple[str, ...] = ()
    # By value: layouts that are needed outside of a window, and the one it is made in there.
    needed: dict[int, frozenset[int]] = dataclasses.field(default_factory=dict)
    made: dict[int, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Posed:
    """A line of the tool's: a problem, the compiler's plan as a choice of each op, and what the tool says of it."""

    problem: Problem
    chosen: tuple[int, ...]
    said: dict[str, Any]


def read(line: str) -> Posed:
    said = json.loads(line)
    kinds = [tuple(Choice(c, h, tuple(o), tuple(r)) for c, h, o, r in kind) for kind in said.pop("kinds")]
    ops = tuple(Op(kinds[op["kind"]], tuple(op["operands"]), tuple(op["results"]), op["what"]) for op in said.pop("ops"))
    classes = [{(a, b): price for a, b, price in table} for table in said.pop("prices")]
    prices = tuple(classes[number] for number in said.pop("values"))
    chosen = tuple(said.pop("chosen", ()))
    return Posed(Problem(ops, prices, tuple(said.pop("layouts"))), chosen, said)


def pose(*arguments: Any) -> list[Posed]:
    """What the tool prints of programs."""
    command = [str(TOOL), *map(str, arguments)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [read(line) for line in lines]


# ---------------------------------------------------------------------------
# What a plan costs
# ---------------------------------------------------------------------------


@functools.cache
def _subsets(number: int) -> list[tuple[int, ...]]:
    return [c for size in range(number + 1) for c in itertools.combinations(range(number), size)]


def tree_cost(made: int, needed: Iterable[int], price: dict[tuple[int, int], float]) -> float:
    """The least that the versions of a value cost: by dynamic programming over the sets of those that are there."""
    left = sorted(set(needed) - {made})
    best = {frozenset(): 0.0}
    for chosen in _subsets(len(left)):
        there = frozenset(chosen)
        if there not in best:
            continue
        sources = [made, *(left[i] for i in chosen)]
        for i, layout in enumerate(left):
            if i in there:
                continue
            cost = best[there] + min(price.get((source, layout), math.inf) for source in sources)
            key = there | {i}
            best[key] = min(best.get(key, math.inf), cost)
    return best[frozenset(range(len(left)))]


def plan_cost(problem: Problem, chosen: Sequence[int]) -> float:
    """Of the choices and of all values' versions."""
    made, needed = dict(problem.made), {value: set(own) for value, own in problem.needed.items()}
    cost = 0.0
    for op, number in zip(problem.ops, chosen):
        choice = op.choices[number]
        cost += choice.cost
        made.update(zip(op.results, choice.results))
        for value, layout in zip(op.operands, choice.operands):
            needed.setdefault(value, set()).add(layout)
    return cost + sum(tree_cost(made[value], own, problem.prices[value]) for value, own in needed.items())


def plan_held(problem: Problem, chosen: Sequence[int]) -> float:
    """Bytes of arguments and results on a device."""
    return sum(op.choices[number].held for op, number in zip(problem.ops, chosen))


def window(problem: Problem, chosen: Sequence[int], kept: Sequence[int]) -> tuple[Problem, tuple[int, ...]]:
    """The ops `kept`, by number, all others being as they are chosen; their choices.

    What others need of a value, or how they make it, is fixed. Values that no kept op has cost what they cost.
    """
    inside = set(kept)
    touched = {value for op in kept for value in (*problem.ops[op].operands, *problem.ops[op].results)}
    made: dict[int, int] = {}
    needed: dict[int, set[int]] = {}
    for number, op in enumerate(problem.ops):
        if number in inside:
            continue
        choice = op.choices[chosen[number]]
        made.update((v, layout) for v, layout in zip(op.results, choice.results) if v in touched)
        for value, layout in zip(op.operands, choice.operands):
            if value in touched:
                needed.setdefault(value, set()).add(layout)
    cut = dataclasses.replace(
        problem,
        ops=tuple(problem.ops[op] for op in kept),
        needed={value: frozenset(own) for value, own in needed.items()},
        made=made,
    )
    return cut, tuple(chosen[op] for op in kept)


# ---------------------------------------------------------------------------
# The integer program
# ---------------------------------------------------------------------------


def _distinct(op: Op) -> list[int]:
    """Of choices with the same layouts that hold the same the cheapest, by number."""
    best: dict[tuple, int] = {}
    for number, choice in enumerate(op.choices):
        key = (choice.operands, choice.results, choice.held)
        if key not in best or choice.cost < op.choices[best[key]].cost:
            best[key] = number
    return sorted(best.values())


class _Rows:
    """A sparse matrix, row by row, with the bounds of its rows."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.numbers: list[float] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, terms: Iterable[tuple[int, float]], low: float, high: float) -> None:
        row = len(self.low)
        for column, number in terms:
            self.rows.append(row)
            self.columns.append(column)
            self.numbers.append(number)
        self.low.append(low)
        self.high.append(high)

    def matrix(self, columns: int) -> scipy.sparse.csr_matrix:
        return scipy.sparse.csr_matrix((self.numbers, (self.rows, self.columns)), shape=(len(self.low), columns))


# A layout and the variables whose sum says whether it is made, or needed; no variables and 1: it always is.
_Marks = dict[int, tuple[list[int], float]]


class Model:
    """Variables and rows of a problem."""

    def __init__(self, problem: Problem, memory: float | None = None) -> None:
        self.problem = problem
        self.costs: list[float] = []
        self.integral: list[int] = []
        self.rows = _Rows()
        # Of each op: number of a choice -> its variable.
        self.choices: list[dict[int, int]] = []
        for op in problem.ops:
            own = {number: self._variable(op.choices[number].cost, True) for number in _distinct(op)}
            self.rows.add(((v, 1.0) for v in own.values()), 1, 1)
            self.choices.append(own)
        made, users = self._marks()
        for value, own in users.items():
            self._add_value(made[value], own, problem.prices[value])
        if memory is not None:
            held = [(v, op.choices[n].held) for op, own in zip(problem.ops, self.choices) for n, v in own.items()]
            # In shares of it: HiGHS takes a row to hold within 1e-7.
            self.rows.add(((v, bytes_ / memory) for v, bytes_ in held if bytes_), -math.inf, 1)

    def _variable(self, cost: float, integral: bool = False) -> int:
        self.costs.append(cost)
        self.integral.append(integral)
        return len(self.costs) - 1

    def _marks(self) -> tuple[dict[int, _Marks], dict[int, list[_Marks]]]:
        """Of each value how it is made, and of each operand that reads it what that needs."""
        made: dict[int, _Marks] = {value: {layout: ([], 1.0)} for value, layout in self.problem.made.items()}
        users: dict[int, list[_Marks]] = {}
        for value, layouts in self.problem.needed.items():
            users[value] = [{layout: ([], 1.0)} for layout in sorted(layouts)]
        for op, own in zip(self.problem.ops, self.choices):
            for values, part in ((op.results, "results"), (op.operands, "operands")):
                for place, value in enumerate(values):
                    marks: _Marks = {}
                    for number, variable in own.items():
                        layout = getattr(op.choices[number], part)[place]
                        marks.setdefault(layout, ([], 0.0))[0].append(variable)
                    if part == "results":
                        made[value] = marks
                    else:
                        users.setdefault(value, []).append(marks)
        return made, users

    def _add_value(self, made: _Marks, users: list[_Marks], price: dict[tuple[int, int], float]) -> None:
        """A unit flows from the made layout to that of each user, and an arc is paid once."""
        alone = len(users) == 1
        paid: dict[tuple[int, int], int] = {}
        for user in users:
            flows = {}
            for arc in _arcs_for(user, made, users, price):
                flows[arc] = self._variable(price[arc] if alone else 0.0)
                if alone or price[arc] == 0:
                    continue
                if arc not in paid:
                    paid[arc] = self._variable(price[arc])
                self.rows.add([(paid[arc], 1.0), (flows[arc], -1.0)], 0, math.inf)
            self._conserve(flows, user, made, users)

    def _conserve(self, flows: dict[tuple[int, int], int], user: _Marks, made: _Marks, users: list[_Marks]) -> None:
        inward: dict[int, list[int]] = {}
        outward: dict[int, list[int]] = {}
        for (a, b), variable in flows.items():
            outward.setdefault(a, []).append(variable)
            inward.setdefault(b, []).append(variable)
        # Of what is made in the layout that is needed nothing flows.
        for layout in {*inward, *outward, *made, *user}:
            terms: list[tuple[int, float]] = []
            constant = 0.0
            for sign, marks in ((1.0, made), (-1.0, user)):
                variables, always = marks.get(layout, ([], 0.0))
                terms += [(v, sign) for v in variables]
                constant += sign * always
            terms += [(v, 1.0) for v in inward.get(layout, [])]
            terms += [(v, -1.0) for v in outward.get(layout, [])]
            self.rows.add(_merged(terms), -constant, -constant)
            self._allow_through(layout, outward.get(layout, []), inward.get(layout, []), user, users)

    def _allow_through(self, layout: int, outward: list[int], inward: list[int], user: _Marks, users: list[_Marks]) -> None:
        """What flows in to flow on needs a user of the layout; what it does not need itself, another one."""
        if not outward or not inward:
            return
        terms = [(v, 1.0) for v in inward]
        for marks in users:
            variables, always = marks.get(layout, ([], 0.0))
            if always:
                return
            terms += [(v, -1.0) for v in variables]
        self.rows.add(_merged(terms), -math.inf, 0)


def _arcs_for(
    user: _Marks, made: _Marks, users: list[_Marks], price: dict[tuple[int, int], float]
) -> list[tuple[int, int]]:
    """From what is made to what the user needs, and through what others need where a move from there may be cheaper."""
    ends = set(user)
    through = {layout for other in users if other is not user for layout in other}
    dearest = {end: max(price.get((m, end), math.inf) if m != end else 0.0 for m in made) for end in ends | through}

    def helps(source: int, target: int) -> bool:
        return source in made or price[source, target] < dearest[target]

    arcs = []
    for a, b in price:
        if b not in dearest or not (a in made or a in through) or not helps(a, b):
            continue
        leads_on = b in through and any(price.get((b, c), math.inf) < most for c, most in dearest.items() if c != b)
        if b in ends or leads_on:
            arcs.append((a, b))
    return arcs


def _merged(terms: list[tuple[int, float]]) -> list[tuple[int, float]]:
    sums: dict[int, float] = {}
    for variable, number in terms:
        sums[variable] = sums.get(variable, 0.0) + number
    return [(variable, number) for variable, number in sums.items() if number]


# ---------------------------------------------------------------------------
# Solving it
# ---------------------------------------------------------------------------
# Shares of a plan's cost that are no difference.
SAME = 1e-6


@dataclasses.dataclass(frozen=True)
class Solution:
    """What the cheapest plan costs, or nothing where no plan was found in time; none costs less than `bound`.

    `chosen` is such a plan; nothing where the linear relaxation proves that a known plan is one.
    """

    cost: float | None
    bound: float
    chosen: tuple[int, ...] | None
    variables: int


def solve(problem: Problem, memory: float | None = None, known: float = math.inf, seconds: float = 600) -> Solution:
    """The cheapest plan within `memory`; nothing dearer than `known`, the cost of a plan that fits, is looked at."""
    model = Model(problem, memory)
    matrix = model.rows.matrix(len(model.costs))
    low, high, costs = np.array(model.rows.low), np.array(model.rows.high), np.array(model.costs)
    # HiGHS' tolerances are of numbers near 1.
    unit = known / 1e3 if 0 < known < math.inf else max(costs.max(initial=0) / 1e3, 1e-12)
    relaxed = _relax(costs / unit, matrix, low, high, seconds)
    if relaxed is None:
        return Solution(None, math.inf, None, len(costs))
    bound = relaxed.fun * unit
    if bound >= known * (1 - SAME) - SAME:
        return Solution(known, bound, None, len(costs))
    # By reduced costs: no plan as cheap as the known one has these.
    most = (known * (1 + SAME) - bound) / unit
    kept = np.flatnonzero(relaxed.lower.marginals <= most + 1e-6)
    found = scipy.optimize.milp(
        costs[kept] / unit,
        integrality=np.array(model.integral)[kept],
        bounds=scipy.optimize.Bounds(0, 1),
        constraints=scipy.optimize.LinearConstraint(matrix[:, kept], low, high),
        options={"time_limit": seconds, "mip_rel_gap": SAME / 10},
    )
    if found.x is None:
        if found.status == 2:
            return Solution(None, math.inf, None, len(kept))
        return Solution(None, max(bound, (found.mip_dual_bound or 0.0) * unit), None, len(kept))
    place = {variable: i for i, variable in enumerate(kept)}
    chosen = tuple(
        max(own, key=lambda number: found.x[place[own[number]]] if own[number] in place else -1.0)
        for own in model.choices
    )
    return Solution(plan_cost(problem, chosen), found.mip_dual_bound * unit, chosen, len(kept))


def _relax(costs: np.ndarray, matrix: Any, low: np.ndarray, high: np.ndarray, seconds: float) -> Any:
    """Without integrality; its marginals are reduced costs. None where no plan fits."""
    equal = low == high
    above, below = ~equal & np.isfinite(low), ~equal & np.isfinite(high)
    most = scipy.sparse.vstack([matrix[below], -matrix[above]])
    found = scipy.optimize.linprog(
        costs,
        A_ub=most,
        b_ub=np.concatenate([high[below], -low[above]]),
        A_eq=matrix[equal],
        b_eq=low[equal],
        bounds=(0, 1),
        method="highs",
        options={"time_limit": seconds},
    )
    if found.status == 2:
        return None
    if found.fun is None:
        raise TimeoutError(f"the linear relaxation of {len(costs)} variables: {found.message}")
    return found
