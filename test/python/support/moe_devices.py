# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints how far XLA's results on many devices are from those on one, {layout and dispatcher: relative difference}.

Usage: XLA_FLAGS=--xla_force_host_platform_device_count=8 moe_devices.py ROUTER "one device" LAYOUT...
"""

import contextlib
import json
import sys

import jax
import jax.numpy as jnp
import numpy as np

from moe_worlds import LAYOUTS, arrays_of, cases, loss_of
from shoal.arrays import mesh_of


def results(config, layout, **options):
    given = jax.tree.map(jnp.asarray, arrays_of(config))
    step = jax.jit(jax.value_and_grad(loss_of(jnp.sum, config, layout, **options), (0, 1), has_aux=True))
    mesh = layout.mesh and mesh_of(layout.mesh, jax.devices())
    with jax.set_mesh(mesh) if mesh else contextlib.nullcontext():
        return jax.tree.leaves(step(*given))


def distance(actual, expected):
    pairs = [(np.float64(a), np.float64(b)) for a, b in zip(actual, expected, strict=True)]
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in pairs)


if __name__ == "__main__":
    router, first, *others = sys.argv[1:]
    options = {"training": True} if router == "Sinkhorn" else {}
    found = {}
    for (of, dispatcher), config in cases().items():
        if of == router:
            one = results(config, LAYOUTS[first], **options)
            for name in others:
                many = results(config, LAYOUTS[name], **options)
                found[f"{name}, {dispatcher}"] = distance(many, one)
    print(json.dumps(found))
