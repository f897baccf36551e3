#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of the example's MoE Transformer within memory limits, as a table in Markdown.

For 4 devices: the limit, what a device of the compiled program holds, what it computes again in parts of
the forward pass, and the bytes that it sends. With --large 16 layers on one device, within 200, 120
and 60 MiB beside arguments and results, for at most 3, 30 and 60% of the forward pass. Ends with 1
where a limit is not kept or more is sent.
"""

import argparse
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np

import shoal

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples" / "moe_training"))
import model  # noqa: E402


def one_by_one(config, parameters, tokens):
    """The example's loss with its layers written out."""
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = shoal.constrain(parameters["embed"][inputs] + parameters["position"], model.SENTENCES)
    aux = 0
    for number in range(config.layers):
        weights = {name: value[number] for name, value in parameters["layers"].items()}
        x, more = model.layer(config, x, weights)
        aux = aux + more
    logits = shoal.einsum("BSM,VM->BSV", shoal.rms_norm(x, parameters["norm"]), parameters["embed"])
    return shoal.layers.cross_entropy(logits, targets) + 0.01 * aux


def scanned(config, parameters, tokens):
    return model.loss_of(config, parameters, tokens)[0]


def measure(config, loss, mesh=model.MESH, **options):
    """The statistics of the gradient's program."""
    parameters = model.initial_parameters(config)
    tokens = np.zeros((config.sentences, config.length + 1), np.int32)
    weights = model.parameter_shardings(parameters)
    return shoal.compile(
        shoal.value_and_grad(partial(loss, config)),
        (parameters, tokens),
        mesh,
        in_shardings=(weights, model.SENTENCES),
        out_shardings=(None, weights),
        flops_per_byte=1000,
        cache=False,
        **options,
    ).stats


def repeated(stats):
    """Per cent of the forward pass, as the program says it."""
    lines = stats["rematerialized"]
    return float(re.search(r"([\d.]+)%", lines[0])[1]) if lines else 0


# MiB of the arena, and the most that may be computed again for it.
LARGE = {200: 3, 120: 30, 60: 60}


def table(config, loss, mesh, limits_of):
    """Prints the table for the limits that limits_of(everything's statistics) yields, of what a device
    holds, with the most that may be computed again; whether all is well."""
    everything = measure(config, loss, mesh)
    print("| limit | a device holds | arena | computed again, of forward | sent |\n|--:|--:|--:|--:|--:|")
    is_well = True
    for limit, most in [(None, 0), *limits_of(everything)]:
        try:
            stats = measure(config, loss, mesh, memory_limit=limit) if limit else everything
        except shoal.CompileError as error:
            print(f"| {limit:,} | {error.diagnostics[0].message} | | | |", flush=True)
            is_well = False
            continue
        cells = (
            f"{limit:,}" if limit else "none", f"{stats['peak_bytes_per_device']:,}",
            f"{stats['arena_bytes_per_device']:,}", f"{repeated(stats):.0f}%",
            f"{sum(stats['bytes_sent_per_device'].values()):,}",
        )  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)
        is_well &= stats["bytes_sent_per_device"] == everything["bytes_sent_per_device"]
        is_well &= limit is None or stats["peak_bytes_per_device"] <= limit
        is_well &= repeated(stats) <= most
    return is_well


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--scan", action="store_true", help="the layers as a loop")
    parser.add_argument("--parts", default="0.9,0.8,0.7,0.6", help="of the arena, as limits")
    parser.add_argument("--large", action="store_true", help="16 layers on one device")
    arguments = parser.parse_args()
    loss = scanned if arguments.scan else one_by_one

    def limits_of(everything):
        arena = everything["arena_bytes_per_device"]
        others = everything["peak_bytes_per_device"] - arena
        if arguments.large:
            return [(others + (mebibytes << 20), most) for mebibytes, most in LARGE.items()]
        return [(int(others + float(part) * arena), 100) for part in arguments.parts.split(",")]

    if arguments.large:
        sizes = {"model": 256, "hidden": 1024, "sentences": 4, "capacity": 64, "bytes": 512}
        config = model.Config(layers=16, length=128, **sizes)
        mesh = shoal.Mesh(data=1, expert=1)
    else:
        config, mesh = model.Config(layers=arguments.layers, length=128, hidden=256), model.MESH
    return 0 if table(config, loss, mesh, limits_of) else 1


if __name__ == "__main__":
    sys.exit(main())
