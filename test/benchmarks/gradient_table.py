#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the gradient of the MoE layer sends, by mesh and by how much of it is annotated.

    test/benchmarks/gradient_table.py

The layer of `assignment_table.py` with a loss, differentiated here and partitioned; nothing is run.
Each device of dp and ep has a group of tokens. On one axis the plan is four all_to_alls, two forward
and two backward, and one all_reduce of what is replicated. The exit code is 1 where there are other
all_to_alls on d8 or dp4xep4, or where more is sent than by JAX's gradient of the same layer, whose
bytes stand beside.
"""

import argparse
import pathlib
import re
import subprocess
import sys

import assignment_table

ROOT = pathlib.Path(__file__).resolve().parents[2]
VARIANTS = ("full", "min", "mid", "none")
# Bytes that a device sends in JAX's gradient of the layer, imported.
MESHES = {"d8": 59_143, "dp4xep4": 149_384, "dp2xep2xtp2": 86_663}
# What annotations ask for that JAX's layer does not have: the whole sum over tp where the experts
# are (4,096 bytes), and that cotangents of what is constrained need not lie as it does (256).
ASKED = {("dp2xep2xtp2", "full"): 4_352}


def loss(mesh: assignment_table.Mesh, variant: str) -> str:
    """The layer with the mean of its squares and a hundredth of its auxiliary loss."""
    text = assignment_table.layer(mesh, variant, mesh.dp * mesh.ep)
    returned = re.search(r"return %y, %aux : (tensor<([0-9x]+)xf32>), tensor<f32>", text)
    whole, count = returned.group(1), 1
    for size in returned.group(2).split("x"):
        count *= int(size)
    end = f"""%squares = arith.mulf %y, %y : {whole}
  %sum = shoal.reduce sum %squares dims = [0, 1, 2] : {whole} -> tensor<f32>
  %count = arith.constant dense<{count}.0> : tensor<f32>
  %mean = arith.divf %sum, %count : tensor<f32>
  %hundredth = arith.constant dense<0.01> : tensor<f32>
  %balance = arith.mulf %aux, %hundredth : tensor<f32>
  %loss = arith.addf %mean, %balance : tensor<f32>
  return %loss : tensor<f32>"""
    text = text.replace(returned.group(0), end)
    return re.sub(r"-> \(.*, tensor<f32>\) \{", "-> tensor<f32> {", text, count=1)


def collectives_of(shoal_opt: str, program: str) -> tuple[list[str], int]:
    """The kinds of the gradient's collectives, and the bytes."""
    passes = [
        "--shoal-differentiate=function=moe_layer",
        f"--shoal-partition={assignment_table.BYTES_FIRST}",
        "--shoal-print-collectives",
    ]
    ended = subprocess.run(
        [shoal_opt, "-", *passes, "-o", "/dev/null"], input=program, capture_output=True, text=True, timeout=600
    )
    if ended.returncode:
        sys.exit(f"shoal-opt failed:\n{ended.stderr}\n{program}")
    own = ended.stderr.split("@moe_layer_grad\n")[1].splitlines()
    end = next(i for i, line in enumerate(own) if line.startswith("  in all "))
    return [line.split()[0] for line in own[:end]], int(own[end].split()[2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shoal-opt", default=str(ROOT / "build/release/bin/shoal-opt"))
    shoal_opt = parser.parse_args().shoal_opt
    assignment_table.S, assignment_table.M, assignment_table.H = 64, 32, 128
    is_well = True
    print(f"{'mesh':12} {'variant':8} {'bytes':>8} {'JAX':>8}  collectives")
    for name, imported in MESHES.items():
        for variant in VARIANTS:
            kinds, sent = collectives_of(shoal_opt, loss(assignment_table.Mesh.parse(name), variant))
            counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
            print(f"{name:12} {variant:8} {sent:8} {imported:>8}  {counts}", flush=True)
            is_well &= sent <= imported + ASKED.get((name, variant), 0)
            is_well &= name == "dp2xep2xtp2" or kinds.count("all_to_all") == 4
            is_well &= name != "d8" or len(kinds) == 5
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
