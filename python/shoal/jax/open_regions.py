# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Regions for one device whose body was inlined: from full_to_shard to shard_to_full.

JAX calls such a body. Behind an inliner its ops stand among those on whole tensors; they are
the ones that depend on what full_to_shard makes, and what nothing else reads: constants, and
the device's number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from jaxlib.mlir import ir

from shoal.jax.annotations import FULL_TO_SHARD, SHARD_TO_FULL, exits_of, walk
from shoal.jax.attributes import string


@dataclass
class OpenRegion:
    """Ops of a block, in their order: entries, what stands between, exits."""

    entries: list[ir.Operation] = field(default_factory=list)
    body: list[ir.Operation] = field(default_factory=list)
    exits: list[ir.Operation] = field(default_factory=list)


def open_regions(ops: Sequence[ir.Operation]) -> list[OpenRegion]:
    """The outermost regions among a block's ops; those in them are in their bodies."""
    if not any(_is_entry(op) for op in ops):
        return []
    regions = _Regions()
    for i, op in enumerate(ops):
        regions.add(i, op)
    return [regions.region(root, ops) for root in sorted(set(map(regions.root, regions.parents)))]


class _Regions:
    """Which ops are how deep in which regions, by their numbers in the block.

    Regions are named by a number of an entry; those with an op in common are one.
    """

    def __init__(self):
        self.parents: dict[int, int] = {}
        self._values: dict[ir.Value, tuple[int, int]] = {}  # depth and region
        self._kinds: dict[int, tuple[str, int]] = {}  # of each op, and its region

    def add(self, number: int, op: ir.Operation) -> None:
        read = [self._values[value] for value in _read_by(op) if value in self._values]
        depth = max((depth for depth, _ in read), default=0)
        if depth == 0 and not _is_entry(op):
            return
        region = read[0][1] if read else self.parents.setdefault(number, number)
        for _, other in read:
            self.parents[self.root(other)] = self.root(region)
        kind = "body"
        if _is_entry(op):
            kind, depth = "body" if depth else "entries", depth + 1
        elif string(op, "call_target_name") == SHARD_TO_FULL:
            kind, depth = "body" if depth > 1 else "exits", depth - 1
        self._kinds[number] = kind, region
        if depth:
            self._values.update((result, (depth, region)) for result in op.results)

    def root(self, region: int) -> int:
        while self.parents[region] != region:
            region = self.parents[region]
        return region

    def region(self, root: int, ops: Sequence[ir.Operation]) -> OpenRegion:
        own = {n: kind for n, (kind, region) in self._kinds.items() if self.root(region) == root}
        body = {number for number, kind in own.items() if kind == "body"}
        found = _read_by_these_alone(ops, body)
        own.update((number, "body") for number in found if number not in self._kinds)
        made = OpenRegion()
        for number in sorted(own):
            getattr(made, own[number]).append(ops[number])
        return made


def _is_entry(op: ir.Operation) -> bool:
    """Whether it is a full_to_shard that no call of a body reads."""
    if op.name != "stablehlo.custom_call" or string(op, "call_target_name") != FULL_TO_SHARD:
        return False
    readers = [use.owner.operation for use in op.results[0].uses]
    return not all(reader.name == "func.call" and exits_of(reader) for reader in readers)


def _read_by(op: ir.Operation) -> list[ir.Value]:
    """Operands of the op and of those in it."""
    return [value for inner in walk(op) for value in inner.operands]


def _read_by_these_alone(ops: Sequence[ir.Operation], numbers: set[int]) -> list[int]:
    """Ops on nothing but each other's results, which only these ops read."""
    wanted = {value for number in numbers for value in _read_by(ops[number])}
    found: list[int] = []
    for number in reversed(range(len(ops))):
        op = ops[number]
        uses = [use.owner.operation for result in op.results for use in result.uses]
        own = [ops[n] for n in (*numbers, *found)]
        is_wanted = any(result in wanted for result in op.results)
        if number not in numbers and not _is_entry(op) and is_wanted and all(_is_in(use, own) for use in uses):
            found.append(number)
            wanted.update(op.operands)
    return _closed(ops, found)


def _closed(ops: Sequence[ir.Operation], found: list[int]) -> list[int]:
    """Those that read no value from elsewhere."""
    made: set[ir.Value] = set()
    kept = []
    for number in sorted(found):
        if all(operand in made for operand in ops[number].operands):
            kept.append(number)
            made.update(ops[number].results)
    return kept


def _is_in(op: ir.Operation, ops: Sequence[ir.Operation]) -> bool:
    """Whether the op is one of these or stands in one."""
    while op is not None and op.name != "func.func":
        if any(op == other for other in ops):
            return True
        op = op.parent.operation if op.parent is not None else None
    return False
