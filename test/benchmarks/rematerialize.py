#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of the example's MoE Transformer within memory limits, as a table in Markdown.

For 4 devices: the limit, what a device of the compiled program holds, what it computes again in parts of
the forward pass, and the bytes that it sends. Ends with 1 where a limit is not kept or more is sent.
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
    return shoal.moe.cross_entropy(logits, targets) + 0.01 * aux


def scanned(config, parameters, tokens):
    return model.loss_of(config, parameters, tokens)[0]


def measure(config, loss, **options):
    """The statistics of the gradient's program."""
    parameters = model.initial_parameters(config)
    tokens = np.zeros((config.sentences, config.length + 1), np.int32)
    weights = model.parameter_shardings(parameters)
    return shoal.compile(
        shoal.value_and_grad(partial(loss, config)),
        (parameters, tokens),
        model.MESH,
        in_shardings=(weights, model.SENTENCES),
        out_shardings=(None, weights),
        flops_per_byte=1000,
        cache=False,
        **options,
    ).stats


def repeated(stats):
    """Of the forward pass, as the program says it."""
    lines = stats["rematerialized"]
    return re.search(r"[\d.]+%", lines[0])[0] if lines else "0%"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--scan", action="store_true", help="the layers as a loop")
    parser.add_argument("--parts", default="0.9,0.8,0.7,0.6", help="of the arena, as limits")
    arguments = parser.parse_args()
    config = model.Config(layers=arguments.layers, length=128, hidden=256)
    loss = scanned if arguments.scan else one_by_one
    everything = measure(config, loss)
    arena, peak = everything["arena_bytes_per_device"], everything["peak_bytes_per_device"]
    sent = everything["bytes_sent_per_device"]
    print("| limit | a device holds | arena | computed again, of forward | sent |\n|--:|--:|--:|--:|--:|")
    kept = True
    for limit in [None, *(int(peak - arena + float(p) * arena) for p in arguments.parts.split(","))]:
        stats = measure(config, loss, memory_limit=limit) if limit else everything
        cells = (
            f"{limit:,}" if limit else "none", f"{stats['peak_bytes_per_device']:,}",
            f"{stats['arena_bytes_per_device']:,}", repeated(stats),
            f"{sum(stats['bytes_sent_per_device'].values()):,}",
        )  # fmt: skip
        print("| " + " | ".join(cells) + " |", flush=True)
        kept &= stats["bytes_sent_per_device"] == sent
        kept &= limit is None or stats["peak_bytes_per_device"] <= limit
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
