# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program that XLA partitioned sends: a reader of its optimised HLO.

Bytes a device sends in the model that `shoalc --stats` uses, of p devices: an
all_gather (p - 1) / p of its output, a reduce_scatter (p - 1) / p of its input,
an all_reduce twice that, an all_to_all (p - 1) / p of what the device holds, a
collective_permute all of it. Loops count as often as their trip count says.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field

_BYTES = {"pred": 1, "bf16": 2, "f16": 2, "f32": 4, "f64": 8, "c64": 8, "c128": 16} | {
    f"{sign}{bits}": bits // 8 for sign in "su" for bits in (8, 16, 32, 64)
}
_SHAPE = re.compile(r"\b(" + "|".join(_BYTES) + r")\[([\d,]*)\]")
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.\-]+) (?:\(.*)?\{\s*$")
_INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?[\w.\-]+ = (.*)$")
_KINDS = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|ragged-all-to-all"
_COLLECTIVE = re.compile(rf"\b({_KINDS})(-start)?\(")


@dataclass
class _Computation:
    """What a computation sends itself, and which it runs how often."""

    sent: Counter = field(default_factory=Counter)
    calls: list[tuple[str, int]] = field(default_factory=list)


def bytes_sent(hlo: str, devices: int) -> dict[str, int]:
    """By kind of collective. hlo: the text of a module for `devices` partitions."""
    computations, entry = _computations(hlo, devices)
    total: Counter = Counter()
    _add(total, computations, entry, 1)
    return {kind: count for kind, count in total.items() if count}


def _computations(hlo: str, devices: int) -> tuple[dict[str, _Computation], str]:
    computations: dict[str, _Computation] = {}
    entry, current = "", None
    for line in hlo.splitlines():
        if (head := _COMPUTATION.match(line)) and " = " not in line.split("{")[0]:
            current = computations.setdefault(head[2], _Computation())
            entry = head[2] if head[1] else entry
        elif current is not None and (instruction := _INSTRUCTION.match(line)):
            _read(current, instruction[1], devices)
    if not entry:
        raise ValueError("the HLO has no entry computation")
    return computations, entry


def _add(total: Counter, computations: dict, name: str, runs: int) -> None:
    for kind, count in computations[name].sent.items():
        total[kind] += count * runs
    for callee, times in computations[name].calls:
        _add(total, computations, callee, runs * times)


def _read(computation: _Computation, text: str, devices: int) -> None:
    collective = _COLLECTIVE.search(text)
    if collective:
        kind = collective[1].replace("-", "_")
        computation.sent[kind] += _bytes_of(text, collective, devices)
        return
    if re.search(r"\bwhile\(", text):
        trips = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', text)
        body = re.search(r"\bbody=%?([\w.\-]+)", text)[1]
        condition = re.search(r"\bcondition=%?([\w.\-]+)", text)[1]
        count = int(trips[1]) if trips else 1
        computation.calls += [(body, count), (condition, count + 1)]
        return
    # A reduction's to_apply has no collectives; a call's may.
    for callee in re.findall(
        r"\b(?:calls|to_apply|true_computation|false_computation|async_wrapped)=%?([\w.\-]+)", text
    ):
        computation.calls.append((callee, 1))
    if branches := re.search(r"\bbranch_computations=\{([^}]*)\}", text):
        computation.calls += [(b.strip().lstrip("%"), 1) for b in branches[1].split(",")]


def _bytes_of(text: str, collective: re.Match, devices: int) -> int:
    kind = collective[1]
    sizes = [_size(*shape) for shape in _SHAPE.findall(text[: collective.start()])]
    if collective[2]:  # a -start's result holds the operands, too, and perhaps contexts
        sizes = _results_of_start(kind, text[: collective.start()])
    size = sum(sizes)
    if kind == "collective-permute":
        pairs = re.search(r"source_target_pairs=\{(.*?)\}\}", text)
        moves = re.findall(r"\{(\d+),(\d+)", pairs[0] if pairs else "")
        return size if any(source != target for source, target in moves) else 0
    p = _group_size(text, devices)
    if kind == "reduce-scatter":
        return (p - 1) * size
    times = 2 if kind == "all-reduce" else 1
    return -(-times * (p - 1) * size // p)  # rounded up


def _results_of_start(kind: str, result: str) -> list[int]:
    """An all-reduce-start's type is its result's; else it is (operands, results, ...)."""
    if kind == "all-reduce":
        return [_size(*shape) for shape in _SHAPE.findall(result)]
    groups = re.findall(r"\(([^()]*)\)", result)
    if len(groups) >= 2:
        return [_size(*shape) for shape in _SHAPE.findall(groups[-1])]
    return [[_size(*shape) for shape in _SHAPE.findall(result)][1]]


def _size(element: str, dims: str) -> int:
    size = _BYTES[element]
    for dim in filter(None, dims.split(",")):
        size *= int(dim)
    return size


def _group_size(text: str, devices: int) -> int:
    """Of groups that are listed, `{{0,4},{1,5}}`, of iota's, `[4,2]<=[2,4]T(1,0)`, of those
    along axes, `mesh['a'=2,'b'=4] {'b'}`, or of all devices."""
    if iota := re.search(r"replica_groups=\[(\d+),(\d+)\]<=", text):
        return int(iota[2])
    if listed := re.search(r"replica_groups=\{\{([\d,]*)\}", text):
        return len(listed[1].split(","))
    if mesh := re.search(r"replica_groups=mesh\[([^\]]*)\][^{]*\{([^}]*)\}", text):
        sizes = {name: int(size) for name, size in re.findall(r"'([^']+)'=(\d+)", mesh[1])}
        axes = re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", mesh[2])
        return math.prod(int(part) if part else sizes[name] for name, part in axes)
    if "replica_groups=" in text and "replica_groups={}" not in text:
        raise ValueError(f"replica_groups of an unknown form: {text}")
    return devices
