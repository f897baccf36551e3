#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Is the planned layout of a layer the fastest there is, by the clock? All layouts of its arguments, compiled and run.

Usage: measured_layouts.py [--ranks N] [--machine FILE] [--rounds N] [--only TEXT...]

Six MoE layers without an annotation. `shoalc --plan` chooses where their arguments lie, by a file that shoal-bench has
written, and so does, in turn, each of the 64 ways to leave tokens and both weights of experts whole or to split one
dimension of each; what lies within is chosen by the same seconds. Each program runs once, a round of 40 steps; then the
plan and the twelve fastest in turn, several rounds.

Columns: a step of the plan and of the fastest layout, all ranks' over as many as take 20 ms, the least; their ratio; the
place of the plan among all; the slowest layout of the first round.
"""

import itertools
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from plans_by_time import freed_layers
from predicted_steps import BUILD, STEPS, argument_parser, least_mean, machine_for

sys.path.insert(0, str(BUILD / "python"))

import shoal  # noqa: E402

LAYERS = ("small", "many experts", "few experts", "many groups", "small capacity", "few tokens")
FINALISTS = 12


def bare_layers(ranks):
    """Without any annotation."""
    return {f"MoE, {name}": _bare(freed_layers(ranks)[f"MoE, {name}"]) for name in LAYERS}


def _bare(text):
    for name, asked in (("xs", "x"), ("wgr", "wg")):
        text = re.sub(rf"  %{name} = shoal.\w+ .*\n", "", text)
        text = re.sub(rf"%{name}\b", f"%{asked}", text)
    return text


def layouts():
    """{name: the split dimension or None} of x [G, S, M], wi [E, M, H] and wo [E, H, M]."""
    dims = (None, 0, 1, 2)
    return [dict(zip(("x", "wi", "wo"), split)) for split in itertools.product(dims, repeat=3)]


def annotated(text, layout):
    for name, dim in layout.items():
        entries = ", ".join('{"expert"}' if d == dim else "{}" for d in range(3))
        given = f'{{shoal.name = "{name}", shoal.sharding = #shoal.sharding<@mesh, [{entries}]>}}'
        text = text.replace(f'{{shoal.name = "{name}"}}', given)
    return text


def planned(text, machine, ranks, folder):
    source, made = folder / "layer.mlir", folder / "planned.mlir"
    source.write_text(text)
    command = [BUILD / "bin/shoalc", source, "--plan", f"--machine={machine}", f"--fix-mesh={ranks}", "-o", made]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return made.read_text()


@dataclass
class Run:
    """A program on the devices of a pool."""

    label: str
    loaded: object
    arrays: list
    steps: list = field(default_factory=list)

    def measure(self):
        self.loaded.run(self.arrays)
        marks = [time.perf_counter()]
        for _ in range(STEPS):
            self.loaded.run(self.arrays)
            marks.append(time.perf_counter())
        marks = 1e6 * np.array(marks)
        self.steps.append(1e-6 * least_mean(marks[:-1], marks[1:]))

    @property
    def least(self):
        return min(self.steps)


def prepare(pool, label, text, machine):
    loaded = pool.load(shoal.compile_text(text, machine=str(machine)))
    random = np.random.default_rng(0)
    arrays = [pool.put(random.standard_normal(tensor.shape, np.float32), tensor) for tensor in loaded.inputs]
    return Run(label, loaded, arrays)


def run_layer(pool, name, text, options, machine, folder):
    plan = prepare(pool, "plan", planned(text, machine, options.ranks, folder), machine)
    runs = [plan]
    for layout in layouts():
        label = ", ".join(f"{key} {'whole' if dim is None else dim}" for key, dim in layout.items())
        runs.append(prepare(pool, label, annotated(text, layout), machine))
    for run in runs:
        run.measure()
    slowest = max(run.least for run in runs)
    finalists = sorted(runs[1:], key=lambda run: run.least)[:FINALISTS]
    for _ in range(options.rounds):
        for run in (plan, *finalists):
            run.measure()
    best = min(finalists, key=lambda run: run.least)
    place = 1 + sum(run.least < plan.least for run in finalists)
    print(f"| {name} | {1e3 * plan.least:.3f} | {1e3 * best.least:.3f} | {plan.least / best.least:.2f} | {place} |"
          f" {1e3 * slowest:.2f} | {best.label} |", flush=True)  # fmt: skip


def main():
    options = argument_parser(__doc__, rounds=8).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        machine = machine_for(options, folder)
        print("| layer | plan, ms | fastest, ms | ratio | place | slowest, ms | the fastest |\n|---|--:|--:|--:|--:|--:|---|")
        for name, text in bare_layers(options.ranks).items():
            if any(part in name for part in options.only):
                with shoal.launch(options.ranks) as pool:
                    run_layer(pool, name, text, options, machine, folder)


if __name__ == "__main__":
    main()
