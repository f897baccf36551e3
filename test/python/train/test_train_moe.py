# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The MoE Transformer of examples/moe_training: 50 steps beside JAX and optax, on 1, 4 and 8 devices."""

import jax
import numpy as np
import pytest
from shoal_testing import TARGET

if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

import moe_twin as twin
import shoal

STEPS = 50
CONFIG = twin.Config(
    sentences=8, length=16, model=16, heads=2, experts=8, hidden=32, capacity=6, layers=1
)
# Data and expert, and how many steps: eight processes take long where there are two cores.
MESHES = {(1, 1): STEPS, (2, 2): STEPS, (2, 4): 20}


def losses_in_jax(start, batches):
    init, step = twin.jax_step(CONFIG, STEPS)
    state, step, losses = init(start), jax.jit(step), []
    for tokens in batches:
        state, loss = step(state, tokens)
        losses.append(float(loss))
    return losses


def losses_on(mesh, start, batches):
    losses = []
    with shoal.launch(mesh.size) as devices:
        state, step = twin.shoal_step(CONFIG, STEPS, mesh, start, devices)
        for tokens in batches:
            state, metrics = step(state, tokens)
            losses.append(float(metrics["loss"]))
        assert (step.cache_size(), step.moves) == (1, 0)
    return losses


def test_losses_are_those_of_jax_and_of_any_number_of_devices():
    start = twin.initial_parameters(CONFIG)
    batches = twin.batches_of(CONFIG, STEPS)
    expected = losses_in_jax(start, batches)
    assert expected[-1] < expected[0] - 0.3
    found = [
        losses_on(shoal.Mesh(data=data, expert=expert), start, batches[:steps])
        for (data, expert), steps in MESHES.items()
    ]
    for losses in found:
        np.testing.assert_allclose(losses, expected[: len(losses)], rtol=0, atol=1e-5)
        np.testing.assert_allclose(losses, found[0][: len(losses)], rtol=1e-6, atol=0)
