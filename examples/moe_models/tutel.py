#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tutel's degrees r of 2 experts on 4 devices: other programs over the same parameters, which stay.

Usage: tutel.py
"""

import numpy as np

import shoal
from shoal.frontend.pytrees import map_leaves
from shoal.moe import Layout, MoeConfig, init_params, moe, param_shardings
from shoal.moe.tutel import Work, best_degree, degrees

EXPERTS, DEVICES, MODEL, HIDDEN, TOKENS = 2, 4, 64, 512, 256


def main():
    config = MoeConfig.tutel(EXPERTS, HIDDEN, moe_group_size=TOKENS)
    x = np.random.default_rng(0).standard_normal((8, TOKENS, MODEL)).astype(np.float32)
    params, first = init_params(config, MODEL), None
    for r in degrees(EXPERTS, DEVICES):
        layout = Layout.tutel(EXPERTS, DEVICES, r)
        stored = param_shardings(config, layout)
        layer = shoal.jit(
            lambda x, p, layout=layout: (moe(x, p, config, layout).y, p), mesh=layout.mesh,
            in_shardings=(layout.P("tokens"), stored), out_shardings=(layout.P("tokens"), stored),
        )  # fmt: skip
        moved = 0 if first is None else layer.moves
        y, params = layer(x, params)
        first = y.numpy() if first is None else first
        assert np.allclose(y.numpy(), first, atol=1e-5), f"r = {r} gives other numbers"
        sent = layer.executable_for(x, params).stats["bytes_sent_per_device"]
        print(f"r = {r}: parameters moved {layer.moves - moved} times, a device sends {sent}")
    rows = 2 * x.nbytes / DEVICES
    work = Work(rows, sum(map_leaves(lambda a: a.nbytes, {k: params[k].numpy() for k in ("wi", "wo")}).values()))
    print("the fewest bytes:", best_degree(work, EXPERTS, DEVICES))


if __name__ == "__main__":
    main()
