#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""GShard's Mixture-of-Experts layer, written in Python and run on 4 devices over real sentences.

Usage: moe_layer.py

Needs the package shoal (`pip install .`) and mpirun. Exits 1 where the result
differs from NumPy's by more than 1e-5.
"""

import sys
from pathlib import Path

import numpy as np

import shoal

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples")]
from sentences import make_batch, make_inputs  # noqa: E402
from shoal_reference import moe_layer as numpy_moe_layer  # noqa: E402

GROUPS, TOKENS, MODEL, EXPERTS, HIDDEN, CAPACITY, K = 4, 256, 64, 8, 256, 64, 2
MESH = shoal.Mesh(expert=4)
TOLERANCE = 1e-5


def layer(x, router, wi, wo):
    """x [G, S, M]. Tokens that no expert had room for pass by the residual connection."""
    out = shoal.moe.moe_layer(x, router, wi, wo, k=K, capacity=CAPACITY)
    return {"y": x + out.y, "aux": out.aux, "routed": out.routed, "kept": out.kept}


def numpy_layer(x, router, wi, wo):
    """The same from the paper, with its loops."""
    y, gating = numpy_moe_layer(x, router, wi, wo, K, CAPACITY)
    chosen = gating.experts[..., None] == np.arange(EXPERTS)
    kept = gating.dispatch.sum(axis=(0, 1, 3))
    return {"y": x + y, "aux": gating.aux, "routed": chosen.sum(axis=(0, 1, 2)), "kept": kept}


def difference(actual, expected):
    """Largest difference over the results, relative to each one's largest value."""
    return max(
        np.max(np.abs(np.float64(actual[name]) - array)) / np.max(np.abs(array))
        for name, array in expected.items()
    )


def shortest_step(function, inputs, repeat=5):
    """Seconds on the device that takes longest."""
    loaded = function(**inputs)["y"].devices.load(function.executable_for(**inputs))
    seconds = []
    for _ in range(repeat):
        function(**inputs)
        seconds.append(loaded.seconds)
    return min(seconds)


def main():
    rng = np.random.default_rng(2020)
    tokens, sentences, languages = make_batch(rng, GROUPS, TOKENS)
    inputs = make_inputs(rng, tokens, MODEL, EXPERTS, HIDDEN)
    print(f"{sentences} sentences in {languages} languages: {tokens.size} byte tokens")

    layer_on_devices = shoal.jit(layer, mesh=MESH)
    exe = layer_on_devices.executable_for(**inputs)
    print(exe)
    print(f"sent per device: {exe.stats['bytes_sent_per_device']}")

    results = layer_on_devices(**inputs)
    step = shortest_step(layer_on_devices, inputs)
    print(f"a step on {exe.devices} devices: {step * 1e3:.2f} ms")
    for name in ("routed", "kept"):
        print(f"{name} per expert: {results[name].numpy().astype(int).tolist()}")

    worst = difference(results, numpy_layer(**inputs))
    print(f"largest relative difference from NumPy: {worst:.1e}")
    if not worst <= TOLERANCE:
        sys.exit(f"error: differs by {worst:.1e}, more than {TOLERANCE:.0e}")


if __name__ == "__main__":
    main()
