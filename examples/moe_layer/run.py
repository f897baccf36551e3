#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the MoE layer, runs it over real sentences on 4 devices, checks it.

Usage: run.py [--bin DIR] [--out DIR]

Needs the built tools, mpirun and NumPy. Exits 1 where the distributed result
differs from the one-device run, or from NumPy, by more than 1e-5.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples")]
from sentences import make_batch, make_inputs  # noqa: E402
from shoal_reference import moe_layer  # noqa: E402

DEVICES, REPEAT, TOLERANCE = 4, 5, 1e-5
GROUPS, TOKENS, MODEL, EXPERTS, HIDDEN, CAPACITY, K = 4, 256, 64, 8, 256, 64, 2
RESULTS = ("y", "aux", "routed", "kept")
MPI_SETTINGS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def run(*command):
    """Runs one tool; its own error message is the best one to show."""
    command = [str(part) for part in command]
    environment = {**MPI_SETTINGS, **os.environ}
    try:
        subprocess.run(
            command,
            check=True,
            timeout=300,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        sys.exit(f"error: {command[0]} not found; build first: utils/demo.sh")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: {Path(command[0]).name} failed (exit {error.returncode})")
    except subprocess.TimeoutExpired:
        sys.exit(f"error: {Path(command[0]).name} took more than 300 s")


def load(directory):
    return {name: np.load(directory / f"{name}.npy") for name in RESULTS}


def difference(actual, expected):
    """Largest difference over the results, relative to each one's largest value."""
    return max(
        np.max(np.abs(np.float64(actual[name]) - expected[name]))
        / max(np.max(np.abs(expected[name])), 1e-30)
        for name in expected
    )


def numpy_results(inputs):
    y, gating = moe_layer(*inputs.values(), K, CAPACITY)
    chosen = gating.experts[..., None] == np.arange(EXPERTS)
    return {
        "y": y,
        "aux": np.float64(gating.aux),
        "routed": chosen.sum(axis=(1, 2)),
        "kept": gating.dispatch.sum(axis=(1, 3)),
    }


def shortened(reason):
    """The file's name without its folders, shardings without their mesh."""
    reason = re.sub(r"\S*/(?=[^/\s]+\.mlir:)", "", reason)
    return re.sub(r"<@\w+, (.*?)>(?= ->|$)", r"\1", reason)


def print_collectives(static):
    print("\nCollectives of the partitioned program (bytes sent per device)")
    for entry in static["collective_list"]:
        axes = entry["axes"].strip("{}").replace("\"", "")
        kind = f"{entry['kind']} ({axes})"
        print(f"  {kind:<24}{entry['bytes']:>10,}")
        print(f"      {shortened(entry['reason'])}")
    total = sum(entry["bytes"] for entry in static["collective_list"])
    print(f"  {'total':<24}{total:>10,}")


def print_run(stats):
    step = stats["step_seconds"]
    peak = stats["peak_bytes_per_device"] / 2**20
    print(f"\nStep on {stats['devices']} devices")
    print(f"  time    {step['median'] * 1e3:.2f} ms median of {REPEAT}", end="")
    print(f" ({step['min'] * 1e3:.2f} to {step['max'] * 1e3:.2f})")
    print(f"  memory  {peak:.2f} MiB peak per device")


def print_experts(results):
    routed, kept = (results[name].sum(axis=0).astype(int) for name in ("routed", "kept"))
    print(f"\nTokens per expert (room for {GROUPS * CAPACITY} each)")
    for label, values in (
        ("expert", range(EXPERTS)),
        ("routed", routed),
        ("kept", kept),
        ("dropped", routed - kept),
    ):
        print(f"  {label:<9}" + "".join(f"{value:>6}" for value in values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default_bin = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release")) / "bin"
    parser.add_argument("--bin", type=Path, default=default_bin)
    parser.add_argument("--out", type=Path, default=ROOT / "out/moe_layer")
    options = parser.parse_args()
    out = options.out
    out.mkdir(parents=True, exist_ok=True)

    rng = np.random.default_rng(2020)
    tokens, sentences, languages = make_batch(rng, GROUPS, TOKENS)
    inputs = make_inputs(rng, tokens, MODEL, EXPERTS, HIDDEN)
    arguments = []
    for name, array in inputs.items():
        np.save(out / f"{name}.npy", array)
        arguments += ["--input", f"{name}={out / name}.npy"]
    print(f"{sentences} sentences in {languages} languages: {tokens.size} byte tokens")

    source = HERE / "moe_layer.mlir"
    program, static, stats = out / "moe_layer", out / "static.json", out / "run.json"
    run(options.bin / "shoalc", source, "-o", program, "--stats", static)
    run(
        *("mpirun", "-n", DEVICES, program, *arguments, "--output-dir", out / "mpi"),
        *("--repeat", REPEAT, "--warmup", 1, "--stats", stats),
    )
    one = ("--devices=0", *arguments, "--output-dir", out / "one")
    run(options.bin / "shoal-run", source, *one)

    results = load(out / "mpi")
    print_collectives(json.loads(static.read_text()))
    print_run(json.loads(stats.read_text()))
    print_experts(results)

    print(f"\nLargest relative difference of the {DEVICES}-device run")
    worst = 0.0
    for label, expected in (
        ("one device", load(out / "one")),
        ("NumPy", numpy_results(inputs)),
    ):
        value = difference(results, expected)
        worst = max(worst, value)
        print(f"  from {label:<12}{value:.1e}")
    if not worst <= TOLERANCE:
        sys.exit(f"error: differs by {worst:.1e}, more than {TOLERANCE:.0e}")


if __name__ == "__main__":
    main()
