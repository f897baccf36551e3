#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partitions programs for few and for many devices, in turn, and prints the
time and the size of the per-device program of each, with their ratio.

Of GShard's layer every device has one group and one expert, so that a device's
work is the same; of the ops of all families it has 16 rows, or fewer on the
last device so that no split is even.
"""

import argparse
import pathlib
import subprocess
import tempfile
import time

from layer_program import Layer
from op_program import op_program


def partition(shoalc: str, program: pathlib.Path, out: pathlib.Path) -> float:
    start = time.perf_counter()
    subprocess.run(
        [shoalc, program, "--emit=spmd", "-o", out], check=True, timeout=600
    )
    return time.perf_counter() - start


PROGRAMS = {
    "GShard's layer": lambda n: Layer(n, 64, 32, n, 16, 64, devices=n).text(),
    "ops of all families": lambda n: op_program(n, spare=0),
    "the same, uneven": lambda n: op_program(n, spare=5),
}


def compare(make_program, args, folder: pathlib.Path) -> None:
    runs = []
    for devices in args.devices:
        source = folder / f"{devices}.mlir"
        source.write_text(make_program(devices))
        runs.append((source, source.with_suffix(".spmd.mlir"), []))
    for _ in range(args.repeat):
        for source, out, times in runs:
            times.append(partition(args.shoalc, source, out))
    rows = []
    for devices, (_, out, times) in zip(args.devices, runs):
        text = out.read_text()
        ops = sum(" = " in line for line in text.splitlines())
        rows.append((min(times), ops, len(text)))
        median = sorted(times)[len(times) // 2]
        print(f"{devices:8} {min(times):8.3f} {median:9.3f} {ops:6} {len(text):8}")
    ratios = [b / a for a, b in zip(*rows)]
    print("ratio    {:8.3f} {:9} {:6.3f} {:8.3f}".format(ratios[0], "", *ratios[1:]))


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shoalc", default=root / "build/release/bin/shoalc")
    parser.add_argument("--devices", type=int, nargs=2, default=[16, 2048])
    parser.add_argument("--repeat", type=int, default=15)
    args = parser.parse_args()

    print(f"{'devices':>8} {'min s':>8} {'median s':>9} {'ops':>6} {'bytes':>8}")
    for name, make_program in PROGRAMS.items():
        print(name)
        with tempfile.TemporaryDirectory() as folder:
            compare(make_program, args, pathlib.Path(folder))


if __name__ == "__main__":
    main()
