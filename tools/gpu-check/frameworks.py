#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the benchmark's layers in JAX or in PyTorch.

    python3 frameworks.py jax|torch RECORDS_AS_JSON [--emulated]

A record is {"layer": …, "kind": …, "sizes": …} of layers.py. For each and for
its parts "layer" and "training" a line of JSON is printed as soon as it is
measured: {"layer": …, "part": …, "seconds": …}. All in one process, since to
import a framework takes longer than to run a layer. --emulated: on the CPU, too.
"""

import argparse
import importlib
import json
import statistics
import time

WARM_UP, REPEAT = 3, 20
PARTS = ("layer", "training")
MODULES = {"jax": "jax_layers", "torch": "torch_layers"}


def shapes_of(kind, sizes, part="layer"):
    """Of the step's arguments, in order; a training step has the result's gradient, too."""
    m, h, e = sizes["model"], sizes["hidden"], sizes["experts"]
    if kind == "mixtral":
        shapes = [(sizes["tokens"], m), (m, e), (e, m, h), (e, m, h), (e, h, m)]
    else:
        shapes = [(sizes["groups"], sizes["tokens"], m), (m, e), (e, m, h), (e, h, m)]
    return shapes + shapes[:1] if part == "training" else shapes


def seconds_of(step, repeat=REPEAT):
    """Times of a step that ends when the device has ended, as Shoal's programs measure it."""
    for _ in range(WARM_UP):
        step()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return {"seconds": min(times), "median": statistics.median(times)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("framework", choices=MODULES)
    parser.add_argument("records", type=json.loads)
    parser.add_argument("--emulated", action="store_true", help="also on the CPU, few steps")
    options = parser.parse_args()
    layers = importlib.import_module(MODULES[options.framework])

    def times(step):
        return seconds_of(step, 2 if options.emulated else REPEAT)

    for record in options.records:
        for part in PARTS:
            kind, sizes = record["kind"], record["sizes"]
            try:
                shapes = shapes_of(kind, sizes, part)
                result = layers.measure(kind, sizes, part, shapes, options.emulated, times)
            except Exception as error:  # one that does not fit into memory: others may
                result = {"failed": f"{type(error).__name__}: {error}"[:500]}
            print(json.dumps({"layer": record["layer"], "part": part, **result}), flush=True)


if __name__ == "__main__":
    main()
