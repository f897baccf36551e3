# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is measured: rows of ways to do the same, taken in turn; the least of each counts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

# Does the work so many times; the least seconds of one.
Way = Callable[[int], float]

# A way that has taken longer has no further turn: JAX's sums along a dimension split over two
# devices take a minute each where Shoal's take 2 ms.
LONGEST = 20.0


@dataclass
class Row:
    """One line of the table.

    group, name, setting: what was measured, and on how many ranks and cores.
    seconds: the least of each way; the first is Shoal's.
    megabytes: what a way holds beside its arguments and results, where that is known.
    load: the machine's load average when the row began.
    note: why it is as it is.
    """

    group: str
    name: str
    setting: str
    seconds: dict[str, float]
    megabytes: dict[str, float] = field(default_factory=dict)
    load: float = 0.0
    note: str = ""

    def ratios(self) -> dict[str, float]:
        """Of Shoal's time to each of the others'."""
        ours, *others = self.seconds.items()
        return {name: ours[1] / seconds for name, seconds in others if seconds > 0}


def take_turns(ways: Mapping[str, Way], rounds: int, repeat: int) -> dict[str, float]:
    """The least seconds of each way over `rounds` in which each has its turn."""
    best: dict[str, float] = {}
    taken = dict.fromkeys(ways, 0.0)
    for _ in range(rounds):
        for name, way in ways.items():
            if taken[name] > LONGEST:
                continue
            begin = time.monotonic()
            best[name] = min(way(repeat), best.get(name, float("inf")))
            taken[name] += time.monotonic() - begin
    return best


def measure(
    group: str, name: str, setting: str, ways: Mapping[str, Way], rounds: int, repeat: int
) -> Row:
    load = os.getloadavg()[0]
    return Row(group, name, setting, take_turns(ways, rounds, repeat), load=load)


def heading() -> str:
    titles = ("", "on", "Shoal / others", "ms", "MiB", "load", "")
    return "| " + " | ".join(titles) + " |\n|" + "---|" * len(titles)


def line(row: Row) -> str:
    """Ratios first; times and memory behind them, as they are this machine's."""
    ratios = ", ".join(f"{ratio:.2f} {name}" for name, ratio in row.ratios().items())
    times = ", ".join(f"{1e3 * seconds:.3g} {name}" for name, seconds in row.seconds.items())
    memory = ", ".join(f"{size:.3g} {name}" for name, size in row.megabytes.items())
    title = f"{row.group}: {row.name}"
    return f"| {title} | {row.setting} | {ratios} | {times} | {memory} | {row.load:.1f} | {row.note} |"
