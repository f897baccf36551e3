#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Python does in a call of shoal.jax.jit and shoal.jit beside the step, which call_overhead.py measures.

Usage: jit_overhead.py [--leaves N] [--calls N] [--most-us US]

The state is a nested dict of N arrays that a step hands on. The step itself is taken out: a call
gets results that are there already. Beside it stands a whole call, and jax.jit of the same.
Times are the least of 7 rounds, in microseconds. Exits 1 where --most-us is less than one of them.
"""

import argparse
import sys
import timeit

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh

import shoal.jax


def state_of(leaves):
    """Layers of ten arrays, nested as parameters of models are."""
    layers = range(-(-leaves // 10))
    return {
        f"layer{i}": {
            f"w{j}": np.ones((4, 4), np.float32) for j in range(min(10, leaves - 10 * i))
        }
        for i in layers
    }


def step(state, batch):
    return jax.tree.map(lambda leaf: leaf + batch, state)


def plain_step(state, batch):
    return {name: {key: leaf + batch for key, leaf in layer.items()} for name, layer in state.items()}


def least(function, calls):
    return min(timeit.repeat(function, number=calls, repeat=7)) / calls * 1e6


def without_the_step(function, *arguments):
    """The same call, whose program gives results that are there already."""
    results = jax.tree.leaves(function(*arguments))
    (call,) = function._calls.values()
    call._run = lambda values: list(results)
    return lambda: function(*arguments)


def measure(function, state, calls):
    """Of a whole call, and of what is done in Python around the step."""
    batch = np.float32(1)
    state = function(state, batch)
    function.clear_cache()
    state = function(state, batch)
    whole = least(lambda: function(state, batch), max(1, calls // 10))
    function.clear_cache()
    return whole, least(without_the_step(function, state, batch), calls)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leaves", type=int, default=300)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--most-us", type=float)
    options = parser.parse_args()

    state = state_of(options.leaves)
    ours = shoal.jax.jit(step, mesh=AbstractMesh((2,), ("x",)))
    native = shoal.jit(plain_step, mesh=shoal.Mesh(x=2))
    jitted, of_jax = jax.jit(step), jax.tree.map(jnp.asarray, state)
    jitted(of_jax, 1.0)
    around = []
    for name, function in (("shoal.jax.jit", ours), ("shoal.jit", native)):
        whole, python = measure(function, state, options.calls)
        around.append(python)
        print(f"{name:14} {options.leaves} arrays: {python:7.1f} us around the step, {whole:8.1f} us in all")
    jax_whole = least(lambda: jax.block_until_ready(jitted(of_jax, np.float32(1))), options.calls // 10)
    print(f"{'jax.jit':14} {options.leaves} arrays: {jax_whole:7.1f} us in all, on one device")
    if options.most_us is not None and max(around) > options.most_us:
        sys.exit(f"error: {max(around):.0f} us are more than {options.most_us:.0f}")


if __name__ == "__main__":
    main()
