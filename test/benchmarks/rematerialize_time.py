#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long rematerialisation takes, and compiling a training step beside its forward pass.

    test/benchmarks/rematerialize_time.py [--repeats N]

Gradients of differentiate.py's programs with 6,000 and 12,000 ops, within four times the least that
they can hold: the processor's time of shoal-opt with the pass less that without it, the least of some
runs. Then the compiler's time of the example's MoE Transformer: of its loss, and of its loss and
gradients. The exit code is 1 where 6,000 ops take 3 s, twice the ops more than 2.2 times as long,
or the step more than 2.5 times as long as its forward pass.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
from differentiate import BIN, ROOT, program

sys.path[:0] = [str(BIN.parent / "python"), str(ROOT / "examples/moe_training")]

# Of their forward passes: a gradient has about six times the ops.
SIZES = (820, 1640)


def processor_seconds(*command):
    """Of a shoal-opt, and what it says."""
    process = subprocess.Popen(
        [BIN / "shoal-opt", *command, "-o", os.devnull], stderr=subprocess.PIPE, text=True
    )
    said = process.stderr.read()
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_utime, said


def rematerialize(gradient, repeats):
    """Seconds of the pass within four times the least that it finds."""
    _, said = processor_seconds(gradient, "--shoal-rematerialize=memory-limit=1")
    least = int(re.search(r"least that was found is ([\d,]+)", said)[1].replace(",", ""))
    limit = f"--shoal-rematerialize=memory-limit={4 * least}"
    runs = [processor_seconds(gradient, limit) for _ in range(repeats)]
    if any(said for _, said in runs):
        sys.exit(f"error: {runs[0][1]}")
    with_pass = min(seconds for seconds, _ in runs)
    return with_pass - min(processor_seconds(gradient)[0] for _ in range(repeats))


def compile_seconds():
    """Of the loss, and of the loss and its gradients."""
    import model

    import shoal

    config = model.Config(layers=4)
    parameters = model.initial_parameters(config)
    tokens = np.zeros((config.sentences, config.length + 1), np.int32)

    def loss(parameters, tokens):
        return model.loss_of(config, parameters, tokens)[0]

    def seconds(function):
        shardings = {"in_shardings": (model.parameter_shardings(parameters), model.SENTENCES)}
        made = shoal.compile(function, (parameters, tokens), model.MESH, cache=False, **shardings)
        return sum(made.stats["compile_seconds"].values())

    return seconds(loss), seconds(shoal.value_and_grad(loss))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        for ops in SIZES:
            source, gradient = (pathlib.Path(folder) / f"{name}.mlir" for name in ("loss", "gradient"))
            source.write_text(program(ops).replace("func.func @main", "func.func private @main"))
            made = [BIN / "shoal-opt", source, "--shoal-differentiate=function=main", "-o", gradient]
            subprocess.run(made, check=True)
            count = gradient.read_text().count(" = ")
            taken.append(rematerialize(gradient, repeats))
            print(f"{count:6} ops  {taken[-1]:.2f} s")
    growth = taken[1] / taken[0]
    print(f"twice the ops: {growth:.2f} times as long (at most 2.2)")
    forward, step = compile_seconds()
    print(f"compiled: loss {forward:.2f} s, with gradients {step:.2f} s: {step / forward:.2f} times (at most 2.5)")
    return 0 if taken[0] < 3 and growth <= 2.2 and step <= 2.5 * forward else 1


if __name__ == "__main__":
    sys.exit(main())
