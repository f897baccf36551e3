#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shardings beside the cheapest ones, which HiGHS finds of the same choices and prices (test/python/support/search_ilp.py).

    test/conformance/search_oracle.py optimum moe jax
    test/conformance/search_oracle.py memory
    test/conformance/search_oracle.py sources moe jax random

optimum  what the plans of programs cost beside an integer program's optimum, of whole programs on at most two axes; of the others,
         and of those that HiGHS is not done with in time, the cheapest that 20 to 60 neighbouring ops can do while all others are
         as they are chosen
memory   plans of layers of which a device holds at most a share of what it would, as --plan --memory-limit finds them
sources  the same searches without one source of moves, or one start, beside all of them

Nothing is run. `real` needs the Python of test/real-models/run.sh. The exit code of `optimum` and `memory` is 1 where a plan is
dearer than --allow says, in shares of the cheapest one.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "real-models"), str(HERE.parent / "python/support")]
os.environ["KERAS_BACKEND"] = "jax"

import search_ilp  # noqa: E402
from search_ilp import TOOL, Posed, Solution, pose, solve  # noqa: E402

KINDS = ("moe", "jax", "real", "random")
RANDOM = ["--random=1000", "--ops=6"]
# As Moves.cpp and ProblemSearch.cpp name them.
SOURCES = (
    "elementwise groups",
    "kept rows",
    "dimensions",
    "the hints",
    "nothing split",
    "what is found where arithmetic counts tenfold",
    "what is found where annotations that only ask bind",
    "what the bound suggests",
    "last chains",
)
# Layers of planned_layers.py over one axis, and what a device may hold as a share of what it holds by the plan without a limit.
MEMORY = (
    ("Mixtral-8x7B, 8 H100", 0.75),
    ("Mixtral-8x7B, 16 H100", 0.75),
    ("Mixtral-8x22B, 16 H100", 0.75),
    ("8x22B-G8T8, 32 H100", 0.75),
    ("8x22B-G8T8, 32 H100", 0.9),
    ("DeepSeek-V3 like, 64 H100", 0.6),
    ("DeepSeek-V3 like, 64 H100", 0.75),
    ("GShard, 64 TPU v3", 0.75),
    ("Tutel base, 64 A100", 0.75),
    ("Tutel base, 64 A100", 0.9),
    ("Tutel large, 64 A100", 0.75),
)


# ---------------------------------------------------------------------------
# Programs
# ---------------------------------------------------------------------------


def imported(kind: str, folder: Path) -> list[tuple[str, Path]]:
    import certificates

    folder.mkdir()
    return list(certificates.imported(kind, folder))


def layer(name: str, folder: Path) -> tuple[Path, str, int]:
    """The program's file, that of the machine, and devices."""
    sys.path.insert(0, str(HERE.parent / "benchmarks"))
    import planned_layers

    case = planned_layers.CASES[name]
    text = planned_layers.program(case, known=False).text
    path = folder / "layer.mlir"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path, str(search_ilp.ROOT / f"machines/{case.machine}.toml"), math.prod(case.mesh.values())


# ---------------------------------------------------------------------------
# The optimum
# ---------------------------------------------------------------------------


def windows(posed: Posed, size: int) -> Iterator[Sequence[int]]:
    """Neighbouring ops in the search's order, which is depth first; each half is in two windows."""
    number = len(posed.problem.ops)
    for begin in range(0, max(number - size // 2, 1), size // 2):
        yield range(begin, min(begin + size, number))


def gap_of_windows(posed: Posed, size: int, seconds: float) -> float:
    """The most that ops of one window could save, in shares of the whole plan's cost without it."""
    whole = posed.said["cost"]
    gap = 0.0
    for kept in windows(posed, size):
        cut, chosen = search_ilp.window(posed.problem, posed.chosen, kept)
        known = search_ilp.plan_cost(cut, chosen)
        found = solve(cut, known=known, seconds=seconds)
        if found.cost is not None and whole > 0:
            gap = max(gap, (known - found.cost) / (whole - (known - found.cost)))
    return gap


def gap_of(posed: Posed, seconds: float) -> tuple[float, bool]:
    """What the plan costs more than the cheapest one, and whether that is of the whole program."""
    cost = search_ilp.plan_cost(posed.problem, posed.chosen)
    assert math.isclose(cost, posed.said["cost"], rel_tol=1e-9, abs_tol=1e-6), posed.said["name"]
    if len(posed.said["mesh"]) <= 2:
        try:
            found = solve(posed.problem, known=cost, seconds=seconds)
        except TimeoutError:
            found = Solution(None, 0, None, 0)
        if found.cost is not None:
            return (cost / found.cost - 1 if found.cost > 0 else 0.0), True
    size = 60 if len(posed.said["mesh"]) <= 2 else 20
    return gap_of_windows(posed, size, seconds), False


def optimum(kinds: list[str], seconds: float, allow: float, folder: Path) -> bool:
    print("| programs | number | solved whole | cheapest | largest gap | s |\n|---|--:|--:|--:|--:|--:|")
    dearer = []
    for kind in kinds:
        begin, gaps, whole = time.perf_counter(), [], 0
        names = dict(reversed(pair) for pair in ((n, str(p)) for n, p in imported(kind, folder / kind)))
        for path, name in names.items():
            for posed in pose(path):
                gap, is_whole = gap_of(posed, seconds)
                gaps.append(gap)
                whole += is_whole
                if gap > search_ilp.SAME:
                    dearer.append((gap, name))
        equal = sum(gap <= search_ilp.SAME for gap in gaps)
        print(f"| {kind} | {len(gaps)} | {whole} | {equal} | {max(gaps):.3%} | {time.perf_counter() - begin:.0f} |", flush=True)
    print()
    for gap, name in sorted(dearer, reverse=True):
        print(f"- {name}: {gap:.4%}")
    return all(gap <= allow for gap, _ in dearer)


# ---------------------------------------------------------------------------
# Memory
# ---------------------------------------------------------------------------


def within_memory(name: str, share: float, folder: Path) -> tuple[Posed, Solution]:
    """The planner's plan of a layer over one axis, and the integer program's."""
    path, machine, devices = layer(name, folder)
    posed = pose(path, f"--machine={machine}", f"--mesh={devices}", f"--memory-share={share}")[0]
    return posed, solve(posed.problem, posed.said["memory"], posed.said.get("cost", math.inf))


def memory(allow: float, folder: Path) -> bool:
    print("| layer, over one axis | share | ms without a limit | ms | the cheapest | dearer by | certificate |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    holds = True
    for name, share in MEMORY:
        posed, found = within_memory(name, share, folder)
        said = posed.said
        head = f"| {name} | {share} | {said['free_cost'] * 1e-6:.3f} "
        if "cost" not in said:
            holds &= found.cost is None
            print(head + f"| nothing fits | {'nothing fits' if found.cost is None else found.cost} | | |", flush=True)
            continue
        gap, certified = said["cost"] / found.cost - 1, said["cost"] / said["bound"] - 1
        holds &= gap <= min(allow, certified + search_ilp.SAME)
        times = f"| {said['cost'] * 1e-6:.3f} | {found.cost * 1e-6:.3f} "
        print(head + times + f"| {max(gap, 0):.4%} | {certified:.2%} |", flush=True)
    return holds


# ---------------------------------------------------------------------------
# What each source is worth
# ---------------------------------------------------------------------------


def costs(arguments: Sequence[str], without: str = "") -> dict[str, float]:
    command = [str(TOOL), "--costs", *([f"--without={without}"] if without else []), *arguments]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {said["name"]: said["cost"] for said in map(json.loads, lines)}


def sources(kinds: list[str], folder: Path) -> bool:
    """Of each source, and each kind of programs: how many are dearer without it, and the most; how many are cheaper."""
    print("| without | " + " | ".join(kinds) + " |\n" + "|---" * (len(kinds) + 1) + "|")
    given = {kind: RANDOM if kind == "random" else [str(p) for _, p in imported(kind, folder / kind)] for kind in kinds}
    base = {kind: costs(arguments) for kind, arguments in given.items()}
    for source in SOURCES:
        cells = []
        for kind, arguments in given.items():
            own = costs(arguments, source)
            change = [own[name] / cost - 1 for name, cost in base[kind].items() if cost > 0]
            dearer = [c for c in change if c > search_ilp.SAME]
            cheaper = sum(c < -search_ilp.SAME for c in change)
            cell = f"{len(dearer)}, most {max(dearer):.2%}" if dearer else "none"
            cells.append(cell + (f"; {cheaper} cheaper" if cheaper else ""))
        print(f"| {source} | " + " | ".join(cells) + " |", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("optimum", "memory", "sources"))
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of programs: {', '.join(KINDS)} (default: moe jax)")
    parser.add_argument("--seconds", type=float, default=60, help="for HiGHS, of one program")
    parser.add_argument("--allow", type=float, default=0.03)
    arguments = parser.parse_args()
    kinds = arguments.kinds or ["moe", "jax"]
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"expected kinds among {', '.join(KINDS)} but got {', '.join(sorted(unknown))}")
    if arguments.what == "optimum" and "random" in kinds:
        parser.error("random programs are those of test/python/compiler/test_search_oracle.py")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.what == "optimum":
            holds = optimum(kinds, arguments.seconds, arguments.allow, folder)
        elif arguments.what == "memory":
            holds = memory(arguments.allow, folder)
        else:
            holds = sources(kinds, folder)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
