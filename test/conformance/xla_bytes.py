# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program that XLA partitioned sends: read from its optimised HLO.

Bytes a device sends in the model that `shoalc --stats` uses, of p devices: an
all_gather (p - 1) / p of its output, a reduce_scatter (p - 1) / p of its input,
an all_reduce twice that, an all_to_all (p - 1) / p of what the device holds, a
collective_permute all of it. Loops count as often as their trip count says.
"""

from __future__ import annotations

import math
import re

from hlo import Computation, byte_sizes, total

_KINDS = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute|ragged-all-to-all"
_COLLECTIVE = re.compile(rf"\b({_KINDS})(-start)?\(")


def bytes_sent(hlo: str, devices: int) -> dict[str, int]:
    """By kind of collective. hlo: the text of a module for `devices` partitions."""

    def cost(_: Computation, text: str) -> dict[str, int]:
        if not (collective := _COLLECTIVE.search(text)):
            return {}
        return {collective[1].replace("-", "_"): _bytes_of(text, collective, devices)}

    return {kind: count for kind, count in total(hlo, cost).items() if count}


def _bytes_of(text: str, collective: re.Match, devices: int) -> int:
    kind = collective[1]
    sizes = byte_sizes(text[: collective.start()])
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
        return byte_sizes(result)
    groups = re.findall(r"\(([^()]*)\)", result)
    if len(groups) >= 2:
        return byte_sizes(groups[-1])
    return [byte_sizes(result)[1]]


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
