# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmark's programs as text: MoE layers on one device, and their parts.

A part has routing of its own, balanced and scattered, so that it needs no other
part and all its inputs may be random. Names of functions are the parts' names.
The part "training" is the layer with the gradients of all its arguments, a
function of JAX's that Shoal imports (jax_layers.py).
"""

from frameworks import shapes_of
from gshard import GShard
from mixtral import Mixtral
from texts import copy_text, product_text, scaled_product_text


def training_text(layer):
    import jax_layers

    sizes = layer.sizes()
    return jax_layers.training_text(layer.kind, sizes, shapes_of(layer.kind, sizes, "training"))


def record_of(layer, part):
    """What a part is, for the report."""
    record = {"part": part, "layer": layer.name, "kind": layer.kind, "sizes": layer.sizes()}
    if part == "experts":
        record["flops"] = layer.expert_flops()
    if part in layer.moved_bytes():
        record["bytes"] = layer.moved_bytes()[part]
    return record


def programs(tiny=False):
    """{file: (text, record)} in the order in which they are worth running."""
    layers = [Mixtral(4096), GShard(8, 2048), Mixtral(32768), Mixtral(16384), Mixtral(8192), GShard(32, 1024)]
    square, line = 8192, 1 << 28
    if tiny:
        layers = [Mixtral(16, 32, 48, 4), GShard(2, 16, 32, 48, 4)]
        square, line = 64, 1 << 12
    listed = {
        "product": (product_text(square), {"part": "product", "size": square, "flops": 2 * square**3}),
        "product_f8": (scaled_product_text(square), {"part": "product_f8", "size": square, "flops": 2 * square**3}),
        "copy": (copy_text(line), {"part": "copy", "bytes": 2 * 4 * line}),
    }
    for layer in layers:
        for part in layer.parts:
            listed[f"{layer.name}-{part}"] = (layer.text(part), record_of(layer, part))
        listed[f"{layer.name}-training"] = (training_text(layer), record_of(layer, "training"))
    return listed
