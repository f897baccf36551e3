# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A reader of XLA's optimised HLO: what its instructions cost, as often as they run.

A loop's body runs as often as its trip count says, once where that is unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

_BYTES = {"pred": 1, "bf16": 2, "f16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16} | {
    f"{sign}{bits}": bits // 8 for sign in "su" for bits in (8, 16, 32, 64)
}
_SHAPE = re.compile(r"\b(" + "|".join(_BYTES) + r")\[([\d,]*)\]")
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) (?:\(.*)?\{\s*$")
_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?([\w.\-]+) = (.*)$")


@dataclass
class Computation:
    """Types by instruction, what its own instructions cost, and which it runs how often."""

    types: dict[str, str] = field(default_factory=dict)
    cost: Counter = field(default_factory=Counter)
    calls: list[tuple[str, int]] = field(default_factory=list)

    def dims(self, name: str) -> list[int]:
        """Of an instruction's result, which is one array."""
        return sizes(self.types[name])[0]


Cost = Callable[[Computation, str], dict[str, int]]


def total(hlo: str, cost: Cost) -> Counter:
    """hlo: the text of a module. cost: of an instruction, all that stands behind its `=`."""
    computations, entry = _computations(hlo, cost)
    counted: Counter = Counter()
    _add(counted, computations, entry, 1)
    return counted


def sizes(types: str) -> list[list[int]]:
    """The sizes of all arrays in a text."""
    return [[int(dim) for dim in dims.split(",") if dim] for _, dims in _SHAPE.findall(types)]


def byte_sizes(types: str) -> list[int]:
    """The bytes of all arrays in a text."""
    found = []
    for element, dims in _SHAPE.findall(types):
        size = _BYTES[element]
        for dim in filter(None, dims.split(",")):
            size *= int(dim)
        found.append(size)
    return found


def _computations(hlo: str, cost: Cost) -> tuple[dict[str, Computation], str]:
    computations: dict[str, Computation] = {}
    entry, current = "", None
    for line in hlo.splitlines():
        if (head := _COMPUTATION.match(line)) and " = " not in line.split("{")[0]:
            current = computations.setdefault(head[2], Computation())
            entry = head[2] if head[1] else entry
        elif current is not None and (instruction := _INSTRUCTION.match(line)):
            name, text = instruction.groups()
            current.types[name] = text
            current.cost.update(cost(current, text))
            current.calls += _calls(text)
    if not entry:
        raise ValueError("the HLO has no entry computation")
    return computations, entry


def _add(counted: Counter, computations: dict, name: str, runs: int) -> None:
    for kind, count in computations[name].cost.items():
        counted[kind] += count * runs
    for callee, times in computations[name].calls:
        _add(counted, computations, callee, runs * times)


def _calls(text: str) -> list[tuple[str, int]]:
    if re.search(r"\bwhile\(", text):
        trips = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', text)
        body = re.search(r"\bbody=%?([\w.\-]+)", text)[1]
        condition = re.search(r"\bcondition=%?([\w.\-]+)", text)[1]
        count = int(trips[1]) if trips else 1
        return [(body, count), (condition, count + 1)]
    # What a reduction, a sort or a scatter applies costs nothing here.
    keys = "calls|true_computation|false_computation|async_wrapped"
    if re.search(r"\bcall\(", text):
        keys += "|to_apply"
    calls = [(callee, 1) for callee in re.findall(rf"\b(?:{keys})=%?([\w.\-]+)", text)]
    if branches := re.search(r"\bbranch_computations=\{([^}]*)\}", text):
        calls += [(b.strip().lstrip("%"), 1) for b in branches[1].split(",")]
    return calls
