#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How near the shardings of programs are to the cheapest ones (shoalc --certify), as a table in Markdown.

    test/conformance/certificates.py moe jax
    test/real-models/run.sh installs what `real` needs; run this with its Python

Programs are partitioned; nothing is run. Below the table is each program whose bound is more than 2 % below what is chosen. The exit code is 1 where the
median is not 0, fewer than 80 % are within 2 %, or fewer than 95 % within 5 %.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "real-models")]
os.environ["KERAS_BACKEND"] = "jax"

import moe_peaks  # noqa: E402, sets JAX's devices
from catalogue import load  # noqa: E402
from examine import BIN, jax_settings  # noqa: E402

TITLES = {"moe": "MoE layers and steps, 8 and 16 devices", "jax": "JAX programs", "real": "models of JAX's libraries"}


@dataclasses.dataclass(frozen=True)
class Row:
    """Of a program: what its shardings cost, what none cost less than, and seconds of the compiler."""

    name: str
    cost: float
    bound: float
    seconds: float

    @property
    def gap(self) -> float:
        """Relative to the bound."""
        return max(self.cost / self.bound - 1, 0) if self.bound > 0 else 0.0


def programs_of(kind: str) -> Iterable:
    if kind == "moe":
        return moe_peaks.programs()
    if kind == "jax":
        return load().values()
    import networks

    return (networks.find(name.split("/")[1]) for name in networks.names())


def imported(kind: str, folder: Path) -> Iterator[tuple[str, Path]]:
    from shoal.jax import import_stablehlo
    from shoal.jax.lowering import lower

    for number, program in enumerate(programs_of(kind)):
        path = folder / f"{kind}{number}.mlir"
        with jax_settings(program):
            path.write_text(import_stablehlo(lower(program.traced(program.mesh()))))
        yield program.name, path


def examine(job: tuple[str, Path]) -> Row:
    name, path = job
    stats = path.with_suffix(".json")
    begin = time.perf_counter()
    command = [BIN / "shoalc", path, "--certify", "--emit=spmd", f"--stats={stats}", "-o", os.devnull]
    subprocess.run(command, check=True, capture_output=True)
    seconds = time.perf_counter() - begin
    found = json.loads(stats.read_text())["certificate"]
    return Row(name, found["cost"], found["lower_bound"], seconds)


def line_of(kind: str, rows: list[Row]) -> str:
    gaps = [row.gap for row in rows]
    share = [sum(gap <= most for gap in gaps) for most in (0, 0.02, 0.05)]
    seconds = [row.seconds for row in rows]
    times = [f"{statistics.median(seconds):.2f}", f"{max(seconds):.1f}"]
    cells = [TITLES[kind], len(rows), *share, f"{max(gaps):.2%}", *times]
    return "| " + " | ".join(map(str, cells)) + " |"


def meets(rows: list[Row]) -> bool:
    gaps = [row.gap for row in rows]
    within = [sum(gap <= most for gap in gaps) / len(gaps) for most in (0.02, 0.05)]
    return statistics.median(gaps) == 0 and within[0] >= 0.8 and within[1] >= 0.95


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="+", choices=TITLES)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    print("| programs | number | proven cheapest | within 2 % | within 5 % | largest gap | s, median | s, most |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    all_rows = {}
    for kind in arguments.kinds:
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            all_rows[kind] = list(pool.map(examine, imported(kind, Path(folder))))
        print(line_of(kind, all_rows[kind]), flush=True)
    print()
    for rows in all_rows.values():
        for row in sorted((row for row in rows if row.gap > 0.02), key=lambda row: -row.gap):
            print(f"- {row.name}: {row.gap:.2%}")
    return 0 if all(map(meets, all_rows.values())) else 1


if __name__ == "__main__":
    sys.exit(main())
