#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What one core takes to move rows by index, beside the operations that its matrix products do in
that time: what an element costs that a one-hot einsum moves instead of multiplying.

    test/benchmarks/moved_rows.py --widths 1 16 4096

A gather reads as many rows as its table has; a scatter adds as many rows to zeros as these have.
Nanoseconds are of a row, operations of an element. The last lines are fits of the medians: what a
row takes, and how many bytes a second come on top, as `include/shoal/Machine/Machine.h` says.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
WIDTHS = (1, 4, 16, 64, 256, 1024, 4096)
BYTES = {"f32": 4, "bf16": 2}
PRODUCT = 512  # the size of the square product whose rate is held against


@dataclass(frozen=True)
class Move:
    """A gather or a scatter of so many rows of so many elements."""

    kind: str
    element: str
    width: int
    rows: int

    def text(self) -> str:
        table = f"tensor<{self.rows}x{self.width}x{self.element}>"
        places = f"tensor<{self.rows}xi32>"
        dims = "index_vector_dim = 1"
        if self.kind == "gather":
            op = (
                f"  %y = shoal.gather %x, %at offset_dims = [1] collapsed_slice_dims = [0] "
                f"start_index_map = [0] {dims} slice_sizes = [1, {self.width}] : "
                f"({table}, {places}) -> {table}"
            )
        else:
            op = (
                f"  %zero = arith.constant dense<0.0> : {table}\n"
                f"  %y = shoal.scatter sum %zero, %at, %x update_window_dims = [1] "
                f"inserted_window_dims = [0] scatter_dims_to_operand_dims = [0] {dims} : "
                f"({table}, {places}, {table}) -> {table}"
            )
        return f"func.func @main(%x: {table}, %at: {places}) -> {table} {{\n{op}\n  return %y : {table}\n}}"

    def places(self) -> np.ndarray:
        return np.random.default_rng(0).permutation(self.rows).astype(np.int32)


def product() -> str:
    square = f"tensor<{PRODUCT}x{PRODUCT}xf32>"
    return (
        f"func.func @main(%x: {square}, %w: {square}) -> {square} {{\n"
        f'  %y = shoal.einsum "MK,KN->MN" %x, %w : ({square}, {square}) -> {square}\n'
        f"  return %y : {square}\n}}"
    )


class Timer:
    """Compiles programs in a folder and runs them on one core."""

    def __init__(self, folder: Path, repeat: int):
        self.folder, self.repeat = folder, repeat

    def compile(self, name: str, text: str) -> Path:
        source, program = self.folder / f"{name}.mlir", self.folder / name
        source.write_text(f'shoal.mesh @mesh = <["x" = 1]>\n{text}\n')
        subprocess.run([BUILD / "bin/shoalc", source, "-o", program], check=True)
        return program

    def seconds(self, program: Path, places: np.ndarray | None = None) -> float:
        stats, flags = program.with_suffix(".json"), []
        if places is not None:
            np.save(program.with_suffix(".npy"), places)
            flags = [f"--input=arg1={program.with_suffix('.npy')}"]
        core = str(min(os.sched_getaffinity(0)))
        subprocess.run(
            ["taskset", "--cpu-list", core, program, "--random-inputs=1", "--warmup=2",
             f"--repeat={self.repeat}", f"--stats={stats}", *flags],
            check=True, stdout=subprocess.DEVNULL,
            env=os.environ | {"SHOAL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
                              "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
        )  # fmt: skip
        return json.loads(stats.read_text())["step_seconds"]["min"]


def fit(points: list[tuple[Move, float]]) -> tuple[float, float]:
    """Operations of a row and of a byte: the least of relative squares."""
    rows = [(1 / ops, move.width * BYTES[move.element] / ops) for move, ops in points]
    solved = np.linalg.lstsq(np.array(rows), np.ones(len(rows)), rcond=None)[0]
    return float(solved[0]), float(solved[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS, metavar="N",
                        help="elements of a row")
    parser.add_argument("--kib", type=int, nargs="+", default=[512, 32768], metavar="N",
                        help="KiB that a program moves (default: what a cache holds, and more)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=15, help="steps in a round")
    args = parser.parse_args()
    moves = [
        Move(kind, element, width, max(2, kib * 1024 // (width * BYTES[element])))
        for kib in args.kib for kind in ("gather", "scatter") for element in BYTES
        for width in args.widths
    ]  # fmt: skip
    points = []
    with tempfile.TemporaryDirectory() as name:
        timer = Timer(Path(name), args.repeat)
        square = timer.compile("product", product())
        print("| | | KiB | width | ns a row | operations an element |\n|---|---|--:|--:|--:|--:|")
        for number, move in enumerate(moves):
            program, ratios, best = timer.compile(f"move{number}", move.text()), [], np.inf
            for _ in range(args.rounds):
                rate = 2 * PRODUCT**3 / timer.seconds(square)
                seconds = timer.seconds(program, move.places()) / move.rows
                ratios.append(rate * seconds)
                best = min(best, seconds)
            ops = statistics.median(ratios)
            points.append((move, ops))
            kib = move.rows * move.width * BYTES[move.element] // 1024
            print(f"| {move.kind} | {move.element} | {kib} | {move.width} | {1e9 * best:.1f} | "
                  f"{ops / move.width:.1f} |", flush=True)  # fmt: skip
    print(f"products: {rate / 1e9:.0f}e9 operations a second")
    for kinds in (("gather",), ("scatter",), ("gather", "scatter")):
        row, byte = fit([(move, ops) for move, ops in points if move.kind in kinds])
        print(f"{', '.join(kinds)}: {row:.0f} operations a row, {byte:.2f} a byte: "
              f"{1e9 * row / rate:.0f} ns, {rate / byte / 1e9:.0f}e9 bytes a second")  # fmt: skip


if __name__ == "__main__":
    main()
