#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps whose shardings were chosen by a machine's seconds, beside those chosen by bytes: twelve programs that leave a choice.

Usage: plans_by_time.py [--ranks N] [--machine FILE] [--rounds N] [--only TEXT...]

Measures the machine by shoal-bench with as many ranks, or takes the file; compiles each program with it and without, and
runs both in turn, several rounds. A program whose two plans are the same text is not run: "same".

Columns: a step of each, of all ranks from the first one's begin to the last one's end over as many as take 20 ms, the
least; their ratio (below 1 seconds have won); then, of either plan, bytes that a device sends, operations of products and
peak memory.
"""

import json
import re
import subprocess
import tempfile
from pathlib import Path

from layer_program import Layer
from predicted_steps import BUILD, STEPS, argument_parser, layers, machine_for, mean_step, mpirun


def freed_layers(ranks):
    """MoE layers in which tokens alone are split."""
    known = layers(ranks)
    shared = ("small", "wide", "narrow", "many experts", "few experts", "many groups")
    texts = {f"MoE, {name}": known[f"MoE, {name}"] for name in shared}
    texts["MoE, small capacity"] = Layer(4, 512, 128, 8, 8, 1024, devices=ranks).text()
    texts["MoE, few tokens"] = Layer(4, 16, 256, 8, 8, 1024, devices=ranks).text()
    return {name: _freed(text) for name, text in texts.items()}


def _freed(text):
    """Without the annotations between tokens and experts."""
    for name in ("d", "es"):
        line = re.search(rf"  %{name} = shoal.split (%\w+) .*\n", text)
        text = re.sub(rf"%{name}\b", line[1], text.replace(line[0], ""))
    return text


def others(ranks):
    rows = 'shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}]>'
    columns = 'shoal.sharding = #shoal.sharding<@mesh, [{}, {"d"}]>'
    return {
        "network": _network(ranks, 512, 256, 1024, rows, rows),
        "network, few rows": _network(ranks, 16, 512, 2048, rows, rows),
        "network, columns": _network(ranks, 512, 512, 1024, columns, columns),
        "network, result whole": _network(ranks, 256, 512, 1024, rows, "shoal.sharding = #shoal.sharding<@mesh, [{}, {}]>"),
    }


def _network(ranks, tokens, model, hidden, given, asked):
    """Two products and a norm; `given` says where tokens lie, and the first weights by hidden units."""
    x, wide = f"tensor<{tokens}x{model}xf32>", f"tensor<{tokens}x{hidden}xf32>"
    first, second = f"tensor<{model}x{hidden}xf32>", f"tensor<{hidden}x{model}xf32>"
    split = 'shoal.sharding = #shoal.sharding<@mesh, [{}, {"d"}]>'
    return f"""shoal.mesh @mesh = <["d" = {ranks}]>
func.func @main(%x: {x} {{{given}}}, %v: {first} {{{split}}}, %w: {second}) -> ({x} {{{asked}}}) {{
  %n = shoal.softmax %x {{axis = 1}} : {x}
  %h = shoal.einsum "td,dh->th" %n, %v : ({x}, {first}) -> {wide}
  %a = shoal.relu %h : {wide}
  %o = shoal.einsum "th,hd->td" %a, %w : ({wide}, {second}) -> {x}
  %y = arith.addf %x, %o : {x}
  return %y : {x}
}}
"""


class Plan:
    """A program, compiled."""

    def __init__(self, text, stem, options):
        source, self.executable = stem.with_suffix(".mlir"), stem
        stats = stem.with_suffix(".json")
        source.write_text(text)
        command = [BUILD / "bin/shoalc", source, f"--stats={stats}", *options]
        shown = subprocess.run([*command, "--emit=spmd"], check=True, stdout=subprocess.PIPE, text=True)
        self.partitioned = shown.stdout
        subprocess.run([*command, "-o", stem], check=True, stdout=subprocess.DEVNULL)
        found = json.loads(stats.read_text())
        self.sent = sum(found["bytes_sent_per_device"].values())
        self.flops, self.peak = found["flops_per_device"], found["peak_bytes_per_device"]
        self.steps = []

    def measure(self, ranks):
        trace = self.executable.with_suffix(".trace")
        mpirun(ranks, self.executable, "--random-inputs=1", "--warmup=2", f"--repeat={STEPS}", f"--trace={trace}")
        self.steps.append(1e-6 * mean_step(json.loads(trace.read_text())["traceEvents"]))


def print_table(cases):
    print("| program | by bytes, ms | by seconds, ms | ratio | bytes sent | operations | peak bytes |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name, (by_bytes, by_time) in cases.items():
        figures = [f"{getattr(by_bytes, of):,.0f} / {getattr(by_time, of):,.0f}" for of in ("sent", "flops", "peak")]
        if by_time.steps:
            least = 1e3 * min(by_bytes.steps), 1e3 * min(by_time.steps)
            times = f"{least[0]:.3f} | {least[1]:.3f} | {least[1] / least[0]:.2f}"
        else:
            times = "same | | "
        print(f"| {name} | {times} | {' | '.join(figures)} |")


def main():
    options = argument_parser(__doc__, rounds=5).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        machine = machine_for(options, folder)
        cases = {}
        for name, text in (freed_layers(options.ranks) | others(options.ranks)).items():
            if any(part in name for part in options.only):
                stem = folder / "".join(c if c.isalnum() else "_" for c in name)
                cases[name] = Plan(text, stem, []), Plan(text, Path(f"{stem}-time"), [f"--machine={machine}"])
        for _ in range(options.rounds):
            for plans in cases.values():
                if plans[0].partitioned != plans[1].partitioned:
                    for plan in plans:
                        plan.measure(options.ranks)
    print_table(cases)


if __name__ == "__main__":
    main()
