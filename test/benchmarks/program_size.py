#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Partitions programs of 1, 2, 4, ... MoE layers and prints the seconds of
each pass, and of all of them, per op: flat lines are linear passes.

Seconds are of the processor, so that another process costs little.
"""

import argparse
import pathlib
import re
import resource
import subprocess
import tempfile

from assignment_table import Mesh, layer

BODY = re.compile(r"^  (%.*)$", re.M)


def stack(mesh: Mesh, variant: str, layers: int, shared_weights: bool) -> str:
    """Layers one behind the other, with weights of their own or all with the same."""
    one = layer(mesh, variant)
    head, rest = one.split("func.func @moe_layer(\n")
    arguments, rest = rest.split(")\n    -> (", 1)
    arguments = [a.strip() for a in re.split(r",\n", arguments)]
    results, body = rest.split(") {\n", 1)
    lines = body.split("\n  return ")[0].split("\n")
    names = re.findall(r"^  %(\w+)|, %(\w+)", "\n".join(l.split(" = ")[0] for l in lines), re.M)
    names = {a or b for a, b in names} | (set() if shared_weights else {"wg", "wi", "wo"})
    text, parameters, value = [], [arguments[0]], "x"
    for i in range(layers):
        def rename(match: re.Match) -> str:
            name = match.group(1)
            if name == "x":
                return f"%{value}"
            return f"%{name}_{i}" if name in names else match.group(0)

        if i == 0 or not shared_weights:
            parameters += [re.sub(r"%(\w+)", rename, a) for a in arguments[1:]]
        text += [re.sub(r"%(\w+)", rename, line) for line in lines]
        value = f"y_{i}"
    result = results.split(", tensor<f32>")[0]
    kind = result.split(" {")[0]
    return (
        head
        + "func.func @layers(\n    "
        + ",\n    ".join(parameters)
        + f")\n    -> ({result}) {{\n"
        + "\n".join(text)
        + f"\n  return %{value} : {kind}\n}}\n"
    )


def measure(shoal_opt: str, program: str) -> tuple[int, float, dict[str, float]]:
    """Ops after import, seconds in all, seconds of each pass."""
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as file:
        file.write(program)
        file.flush()
        imported = subprocess.run(
            [shoal_opt, file.name, "--shoal-import"], check=True, capture_output=True, text=True
        ).stdout
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        run = subprocess.run(
            [shoal_opt, file.name, "--shoal-partition", "--mlir-timing", "--mlir-timing-display=list", "-o", "/dev/null"],
            check=True,
            capture_output=True,
            text=True,
        )
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    passes = {}
    for line in run.stderr.splitlines():
        match = re.match(r"\s+([\d.]+) \(\s*[\d.]+%\)\s+(\S+)$", line)
        if match:
            passes[match.group(2)] = passes.get(match.group(2), 0) + float(match.group(1))
    return imported.count(" = "), seconds, passes


def main() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shoal-opt", default=str(root / "build/release/bin/shoal-opt"))
    parser.add_argument("--mesh", default="dp2xep2xtp2")
    parser.add_argument("--variant", default="min")
    parser.add_argument("--shared-weights", action="store_true", help="all layers read the same weights")
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--passes", type=int, default=8, help="how many of the slowest passes to print")
    args = parser.parse_args()
    for layers in args.layers:
        program = stack(Mesh.parse(args.mesh), args.variant, layers, args.shared_weights)
        ops, seconds, passes = measure(args.shoal_opt, program)
        slowest = sorted(passes.items(), key=lambda p: -p[1])[: args.passes]
        print(f"{layers:4} layers {ops:6} ops {seconds:8.3f} s {1e6 * seconds / ops:8.1f} us an op", flush=True)
        for name, own in slowest:
            if name not in ("root", "Total", "Rest"):
                print(f"      {own:8.3f} s {1e6 * own / ops:8.1f} us an op  {name}")


if __name__ == "__main__":
    main()
