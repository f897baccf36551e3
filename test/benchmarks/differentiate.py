#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long differentiation takes, and whether its text is always the same.

    test/benchmarks/differentiate.py

Programs of 5,000, 10,000 and 20,000 ops of several kinds, each in two runs; the least of
--repeats times of the pass alone, by --mlir-timing. The exit code is 1 where 10,000 ops take a
second, twice the ops take more than 2.2 times as long, or two runs write two texts.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release")) / "bin"
SIZES = (5000, 10000, 20000)
STEPS = (
    "math.tanh {0} : tensor<8x8xf32>",
    'shoal.einsum "ab,bc->ac" {0}, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>',
    "arith.addf {0}, {1} : tensor<8x8xf32>",
    "shoal.softmax {0} {{axis = 1}} : tensor<8x8xf32>",
    "arith.mulf {0}, {1} : tensor<8x8xf32>",
    "shoal.transpose {0} permutation = [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>",
    "shoal.reverse {0} dims = [1] : tensor<8x8xf32>",
    "arith.maximumf {0}, %x : tensor<8x8xf32>",
)


def program(ops: int) -> str:
    lines = [
        "func.func @main(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<f32> {",
        "  %v0 = arith.addf %x, %w : tensor<8x8xf32>",
    ]
    for i in range(1, ops - 1):
        step = STEPS[i % len(STEPS)].format(f"%v{i - 1}", f"%v{max(i - 7, 0)}")
        lines.append(f"  %v{i} = {step}")
    lines.append(f"  %s = shoal.reduce sum %v{ops - 2} dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>")
    return "\n".join([*lines, "  return %s : tensor<f32>", "}", ""])


def differentiate(source: pathlib.Path) -> tuple[float, str]:
    """Seconds of the pass, and the text."""
    command = [BIN / "shoal-opt", source, "--shoal-differentiate=function=main", "--mlir-timing"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"([0-9.]+) \(.*\)  Differentiate\n", ended.stderr)
    return float(found.group(1)), ended.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    best = {}
    is_same = True
    with tempfile.TemporaryDirectory() as folder:
        sources = {ops: pathlib.Path(folder) / f"{ops}.mlir" for ops in SIZES}
        for ops, source in sources.items():
            source.write_text(program(ops))
        texts = {}
        for _ in range(max(repeats, 2)):
            for ops, source in sources.items():
                seconds, text = differentiate(source)
                best[ops] = min(best.get(ops, seconds), seconds)
                is_same &= texts.setdefault(ops, text) == text
    for ops in SIZES:
        print(f"{ops:6} ops  {best[ops]:.3f} s")
    growth = best[SIZES[2]] / best[SIZES[1]]
    print(f"twice the ops: {growth:.2f} times as long (at most 2.2); texts {'equal' if is_same else 'differ'}")
    return 0 if best[10000] < 1 and growth <= 2.2 and is_same else 1


if __name__ == "__main__":
    sys.exit(main())
