#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A layer of a file of Megatron-Core's arguments, on 4 devices.

Usage: megatron.py [FILE]
"""

import sys
from pathlib import Path

import numpy as np

import shoal
from shoal.moe import Layout, MoeConfig, init_params, moe, param_shardings


def main(file=Path(__file__).with_suffix(".args")):
    arguments = Path(file).read_text()
    config = MoeConfig.from_megatron(arguments, moe_group_size=64)
    layout = Layout.from_megatron(arguments, devices=4)
    for role in ("tp", "dp", "etp", "ep", "edp"):
        print(f"{role}: {layout.groups(role)}")
    x = np.random.default_rng(0).standard_normal((8, 64, 32)).astype(np.float32)
    shardings = (layout.P("outside"), param_shardings(config, layout))
    layer = shoal.jit(lambda x, p: moe(x, p, config, layout), mesh=layout.mesh, in_shardings=shardings)
    out = layer(x, init_params(config, 32))
    print("kept of each expert's choices:", out.metrics.kept.numpy() / out.metrics.counts.numpy())
    print("losses:", {name: float(loss.numpy()) for name, loss in out.losses.items()})


if __name__ == "__main__":
    main(*sys.argv[1:])
