#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exchanges whole and in two steps on a machine that is not there, as a table in Markdown: one all_to_all of so many bytes
a device, by `shoalc --simulate` of the program without `--machine`, which sends it whole, and with.

Usage: two_step_exchanges.py [MACHINE.toml]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOALC = ROOT / "build/release/bin/shoalc"
DEVICES = (16, 32, 64, 128, 256, 512, 1024, 2048)
MEBIBYTES = (1, 8, 32, 256)

PROGRAM = """shoal.mesh @mesh = <["ep" = {devices}]>
func.func @main(%x: tensor<{devices}x{devices}x{row}xf32> {{shoal.sharding = #shoal.sharding<@mesh, [{{}}, {{"ep"}}, {{}}]>}})
    -> (tensor<{devices}x{devices}x{row}xf32> {{shoal.sharding = #shoal.sharding<@mesh, [{{"ep"}}, {{}}, {{}}]>}}) {{
  return %x : tensor<{devices}x{devices}x{row}xf32>
}}
"""


def seconds(program: Path, machine: Path, *options: str) -> tuple[float, int]:
    """Of the collectives of a step and their packing, and how many collectives."""
    stats = program.with_suffix(".json")
    command = [SHOALC, program, f"--simulate={machine}", "--emit=summary", "-o", "/dev/null", f"--stats={stats}", *options]
    subprocess.run(command, check=True, capture_output=True)
    predicted = json.loads(stats.read_text())
    step = predicted["predicted"]
    return step["exposed_seconds"] + step["packing_seconds"], len(predicted["collective_list"])


def main() -> None:
    machine = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "machines/ndv4-a100.toml"
    print("| devices |" + "".join(f" {size} MiB: whole, ms | as chosen, ms | times |" for size in MEBIBYTES))
    print("|--:|" + "--:|--:|--:|" * len(MEBIBYTES))
    with tempfile.TemporaryDirectory() as folder:
        for devices in DEVICES:
            cells = []
            for size in MEBIBYTES:
                program = Path(folder) / "exchange.mlir"
                program.write_text(PROGRAM.format(devices=devices, row=max(1, size * 2**20 // 4 // devices)))
                whole, _ = seconds(program, machine)
                chosen, count = seconds(program, machine, f"--machine={machine}")
                cells.append(f" {whole * 1e3:.3f} | {chosen * 1e3:.3f}{' in two' if count == 2 else ''} | {whole / chosen:.2f} |")
            print(f"| {devices:,} |" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
