#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of shoal.moe in JAX's world, by XLA on 1 to 8 devices, beside the frontend's program in the interpreter.

    test/conformance/both_worlds.py --json out/worlds.json

Every router, dispatcher and layout of test/python/support/moe_worlds.py: losses, results and counts, and the gradients of
parameters and tokens. A difference is that of a leaf, relative to its largest element. The exit code is 1 where one is
above BAR.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/python/support"))
from paths import PATHS  # noqa: E402

sys.path[:0] = PATHS
FLAGS = "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from frontend_testing import evaluate, shoal  # noqa: E402
from moe_worlds import BY_NODES, DISPATCHERS, LAYOUTS, NODES, ROUTERS, arrays_of, cases, layouts_of, loss_of  # noqa: E402

from shoal.arrays import mesh_of  # noqa: E402

BAR = 2e-6
CASES = cases()


def step(sum_of, value_and_grad, router, dispatcher, layout):
    """((loss, what it was made of), gradients) of parameters, tokens and what else there is."""
    options = {"training": True} if router == "Sinkhorn" else {}
    loss = loss_of(sum_of, CASES[router, dispatcher], layout, **options)
    return lambda *given: value_and_grad(loss, (0, 1), has_aux=True)(*given)


@functools.cache
def native(router, dispatcher, name):
    """The leaves of both."""
    layout = layouts_of(dispatcher)[name]
    made, devices = step(shoal.sum, shoal.value_and_grad, router, dispatcher, layout), layout.mesh.size if layout.mesh else 0
    with tempfile.TemporaryDirectory() as folder:
        given = arrays_of(CASES[router, dispatcher])
        return leaves(evaluate(Path(folder), made, *given, mesh=layout.mesh, devices=devices))


def by_xla(router, dispatcher, layout):
    made = jax.jit(step(jnp.sum, jax.value_and_grad, router, dispatcher, layout))
    mesh = layout.mesh and mesh_of(layout.mesh, jax.devices())
    with jax.set_mesh(mesh) if mesh else contextlib.nullcontext():
        return leaves(made(*jax.tree.map(jnp.asarray, arrays_of(CASES[router, dispatcher]))))


def leaves(made):
    return tuple([np.float64(leaf) for leaf in jax.tree.leaves(part)] for part in made)


def distance(actual, expected):
    """Of leaves, the largest difference."""
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in zip(actual, expected, strict=True))


def differences(router, dispatcher, name):
    """[forward, gradients], of one device, or of as many where these decide what is dropped."""
    own = CASES[router, dispatcher].dispatch.rank_factor is not None
    expected = native(router, dispatcher, name if own else "one device")
    return [*map(distance, by_xla(router, dispatcher, layouts_of(dispatcher)[name]), expected)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--routers", nargs="+", choices=ROUTERS, default=list(ROUTERS))
    dispatchers, layouts = [*DISPATCHERS, BY_NODES], list({**LAYOUTS, **NODES})
    parser.add_argument("--dispatchers", nargs="+", choices=dispatchers, default=dispatchers)
    parser.add_argument("--layouts", nargs="+", choices=layouts, default=layouts)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = {}
    for router in arguments.routers:
        found[router] = {
            dispatcher: {
                name: differences(router, dispatcher, name) for name in arguments.layouts if name in layouts_of(dispatcher)
            }
            for dispatcher in arguments.dispatchers if (router, dispatcher) in CASES
        }  # fmt: skip
        native.cache_clear()
        listed = [pair for by_layout in found[router].values() for pair in by_layout.values()]
        if not listed:
            continue
        forward, gradients = (max(pair[i] for pair in listed) for i in (0, 1))
        print(f"{router}: {len(listed)} programs, forward {forward:.1e}, gradients {gradients:.1e}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1))
    pairs = [pair for of_router in found.values() for by_layout in of_router.values() for pair in by_layout.values()]
    for bar in (1e-6, BAR):
        print(f"within {bar:.0e}: {sum(max(pair) <= bar for pair in pairs)} of {len(pairs)}")
    sys.exit(max(map(max, pairs)) > BAR)


if __name__ == "__main__":
    main()
