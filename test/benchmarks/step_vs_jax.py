#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step (loss, gradients, Adam) of a decoder of 4 layers, 256 wide, on two
devices that stay, beside JAX on two host devices; in turn, on the same cores. The
batch is split. Prints minima, medians and their ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
os.environ |= {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
}
sys.path[:0] = [str(BUILD / "python"), str(ROOT / "python")]

import jax  # noqa: E402
import numpy as np  # noqa: E402
from transformer import VOCABULARY, Transformer  # noqa: E402

PROGRAM = Transformer(layers=4, data=2, model=1, batch=8, length=128)


def arguments(shapes: Any) -> list[np.ndarray]:
    """Small weights and states that are squares, tokens of the vocabulary."""
    numbers = np.random.default_rng(0)

    def draw(shape: Any) -> np.ndarray:
        if shape.dtype == np.int32:
            return numbers.integers(0, VOCABULARY, shape.shape, np.int32)
        return (0.02 * np.abs(numbers.standard_normal(shape.shape))).astype(np.float32)

    return [draw(shape) for shape in jax.tree.leaves(shapes)]


def time_steps(step: Callable[[], Any], repeat: int) -> list[float]:
    """Seconds of each, behind two that are not timed."""
    times = []
    for _ in range(repeat + 2):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return times[2:]


def run_jax(repeat: int) -> list[float]:
    traced = PROGRAM.traced(PROGRAM.mesh())
    compiled = traced.lower().compile()
    placed = map(
        jax.device_put,
        arguments(traced.in_avals),
        jax.tree.leaves(compiled.input_shardings[0]),
    )
    values = jax.tree.unflatten(compiled.in_tree, list(placed))
    return time_steps(lambda: jax.block_until_ready(compiled(*values[0])), repeat)


def run_shoal(loaded: Any, arrays: list[Any], repeat: int) -> list[float]:
    return time_steps(lambda: loaded.run(arrays), repeat)


def run_in_process(repeat: int) -> list[float]:
    """JAX in a process of its own, whose threads are gone behind it."""
    command = [sys.executable, __file__, "--jax", "--repeat", str(repeat)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=10, help="steps in a round")
    parser.add_argument("--jax", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.jax:
        print(json.dumps(run_jax(args.repeat)))
        return

    import shoal
    from shoal.jax import import_stablehlo
    from shoal.jax.lowering import lower

    traced = PROGRAM.traced(PROGRAM.mesh())
    executable = shoal.compile_text(import_stablehlo(lower(traced)))
    ours: list[float] = []
    theirs: list[float] = []
    with shoal.launch(2) as devices:
        loaded = devices.load(executable)
        values = arguments(traced.in_avals)
        arrays = [devices.put(value, place) for value, place in zip(values, loaded.inputs)]
        for _ in range(args.rounds):
            ours += run_shoal(loaded, arrays, args.repeat)
            theirs += run_in_process(args.repeat)
    for name, of in (("minimum", min), ("median", statistics.median)):
        print(
            f"{name}: Shoal {1e3 * of(ours):.1f} ms, JAX {1e3 * of(theirs):.1f} ms, "
            f"ratio {of(ours) / of(theirs):.2f}"
        )


if __name__ == "__main__":
    main()
