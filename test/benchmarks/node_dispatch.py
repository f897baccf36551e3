#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows at once to the devices of their experts, and once to each node, on a machine that is not there, as a table in
Markdown: DeepSeek-V3's layer of experts, 4,096 tokens a device in bfloat16, forward and back, balanced.

Usage: node_dispatch.py [--devices N ...] [--forward]
"""

from __future__ import annotations

import argparse

import shoal
from shoal import models
from shoal.moe import Layout, moe, param_shapes, param_shardings
from shoal.planning.job import simulated
from shoal.simulation.machines import Machine, node_of

TOKENS = 4096
OPTIONS = {"quick_search": True, "max_replicated_bytes": -1, "warn_repeated_work": 0.0, "cache": False}


def program(devices, node, how, forward):
    """The layer's text, and its layout."""
    config = simulated(models.from_config("deepseek-v3").config)
    experts = config.moe.replace(moe_token_dispatcher_type=how)
    layout = Layout.folded({"dp": devices}, {"ep": devices}, node=node)
    places = param_shardings(experts, layout)
    params = {
        name: shoal.TensorSpec(shape, "bfloat16", places[name]) if not isinstance(shape, dict) else
        {key: shoal.TensorSpec(each, "bfloat16", places[name][key]) for key, each in shape.items()}
        for name, shape in param_shapes(experts, config.hidden_size).items()
    }  # fmt: skip
    x = shoal.TensorSpec((devices, TOKENS, config.hidden_size), "bfloat16", layout.P("outside"))

    def layer(x, params):
        return moe(x, params, experts, layout).y

    def step(x, params):
        y, pull = shoal.vjp(lambda x: layer(x, params), x)
        return y, *pull(y)

    outs = layout.P("outside") if forward else (layout.P("outside"),) * 2
    return shoal.trace(layer if forward else step, (x, params), layout.mesh, out_shardings=outs), layout


def between_nodes(row, layout, node):
    """Bytes that a device sends to other nodes in a collective."""
    axes = [axis for axis in layout.mesh.axes if f'"{axis}"' in row.axes]
    size = layout.mesh.size if len(axes) == len(layout.mesh.axes) else 0
    if size:
        return row.bytes * row.runs * (size - node) / (size - 1)
    return row.bytes * row.runs if set(axes) & set(layout.axes("nodes")) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--devices", nargs="+", type=int, default=[16, 32, 64])
    parser.add_argument("--forward", action="store_true")
    parser.add_argument("--machine", default="dgx-h100")
    given = parser.parse_args()
    machine = Machine.read(given.machine)
    node = node_of(machine)
    print("| EP | rows | MB between nodes | exchanges, ms | exposed, ms | layer, ms | as fast |\n|--:|---|--:|--:|--:|--:|--:|")
    for devices in given.devices:
        before = None
        for how, name in (("alltoall", "at once"), ("flex", "once to a node")):
            text, layout = program(devices, node, how, given.forward)
            made = shoal.simulate(text, machine=machine, **OPTIONS)
            sent = [row for row in made.rows if row.is_collective and "all_to_all" in row.name]
            mega = sum(between_nodes(row, layout, node) for row in sent) / 1e6
            seconds = sum(row.seconds for row in sent)
            before = before or made.seconds
            cells = f"{mega:.0f} | {seconds * 1e3:.2f} | {made.exposed * 1e3:.2f} | {made.seconds * 1e3:.2f}"
            print(f"| {devices} | {name} | {cells} | {before / made.seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
