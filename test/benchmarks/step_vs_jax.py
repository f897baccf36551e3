#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps (loss, gradients, optimiser) of decoders of 4 layers, 256 wide, on two
devices that stay, beside JAX on two host devices; in turn, on the same cores.

    .venv/bin/python test/benchmarks/step_vs_jax.py
    .cache/real-models/bin/python -W ignore test/benchmarks/step_vs_jax.py flax qwen3

Models but the first are in the environment that test/real-models/run.sh installs. Prints
minima, medians and their ratios.
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
sys.path[:0] = [
    str(ROOT / "test/real-models"),
    str(ROOT / "test/conformance"),
    str(BUILD / "python"),
    str(ROOT / "python"),
]

import jax  # noqa: E402
from step_models import MODELS  # noqa: E402


def time_steps(step: Callable[[], Any], repeat: int) -> list[float]:
    """Seconds of each, behind two that are not timed."""
    times = []
    for _ in range(repeat + 2):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return times[2:]


def run_jax(program: Any, repeat: int) -> list[float]:
    compiled = program.traced(program.mesh()).lower().compile()
    placed = map(jax.device_put, program.arrays(), jax.tree.leaves(compiled.input_shardings[0]))
    values = jax.tree.unflatten(compiled.in_tree, list(placed))
    return time_steps(lambda: jax.block_until_ready(compiled(*values[0])), repeat)


def run_shoal(loaded: Any, arrays: list[Any], repeat: int) -> list[float]:
    return time_steps(lambda: loaded.run(arrays), repeat)


def run_in_process(name: str, repeat: int) -> list[float]:
    """JAX in a process of its own, whose threads are gone behind it."""
    command = [sys.executable, "-W", "ignore", __file__, name, "--jax", "--repeat", str(repeat)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def compare(name: str, rounds: int, repeat: int) -> dict[str, Any]:
    """Prints minima and medians; returns the minima in seconds."""
    import shoal
    from shoal.jax import import_stablehlo
    from shoal.jax.lowering import lower

    program = MODELS[name]()
    executable = shoal.compile_text(import_stablehlo(lower(program.traced(program.mesh()))))
    ours: list[float] = []
    theirs: list[float] = []
    with shoal.launch(2) as devices:
        loaded = devices.load(executable)
        arrays = [
            devices.put(value, place) for value, place in zip(program.arrays(), loaded.inputs)
        ]
        for _ in range(rounds):
            ours += run_shoal(loaded, arrays, repeat)
            theirs += run_in_process(name, repeat)
    for statistic, of in (("minimum", min), ("median", statistics.median)):
        print(
            f"{name}, {statistic}: Shoal {1e3 * of(ours):.1f} ms, JAX {1e3 * of(theirs):.1f} ms, "
            f"ratio {of(ours) / of(theirs):.2f}",
            flush=True,
        )
    load = os.getloadavg()[0]
    return {"name": name, "seconds": {"shoal": min(ours), "jax": min(theirs)}, "load": load}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["plain"], help=f"of {', '.join(MODELS)}")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=10, help="steps in a round")
    parser.add_argument("--json", type=Path, help="where to write the minima")
    parser.add_argument("--jax", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := sorted(set(args.models) - set(MODELS)):
        parser.error(f"there is no model {', '.join(unknown)}: there are {', '.join(MODELS)}")
    if args.jax:
        print(json.dumps(run_jax(MODELS[args.models[0]](), args.repeat)))
        return
    found = [compare(name, args.rounds, args.repeat) for name in args.models]
    if args.json:
        args.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
