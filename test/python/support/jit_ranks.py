#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each of two ranks does in test_jax_jit.py: shoal.jax.jit in an MPI job.

Usage: mpirun -n 2 python jit_ranks.py
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh
from jax.sharding import PartitionSpec as P
from mpi4py import MPI

import shoal.jax
from shoal import CompileError

comm = MPI.COMM_WORLD
mesh = AbstractMesh((2,), ("x",))
printed = []


def step(w, x):
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    jax.debug.callback(lambda loss: printed.append(float(loss)), loss)
    return w - 0.1 * gradient, loss


x = np.random.default_rng(0).standard_normal((16, 8)).astype(np.float32)
w = wanted = np.ones((8, 4), np.float32)
jitted = shoal.jax.jit(step, mesh=mesh, in_shardings=(P("x"), P("x")), donate_argnums=0)
losses = []
for _ in range(3):
    w, loss = jitted(w, x)
    wanted, wanted_loss = jax.jit(step)(wanted, x)
    losses.append(float(loss))
    np.testing.assert_allclose(loss, wanted_loss, rtol=1e-5)
assert jitted.cache_size() == 1
assert w.shards[0].data.shape == (4, 4)
np.testing.assert_allclose(w.numpy(), wanted, rtol=1e-5)
jax.effects_barrier()
assert len(printed) == (6 if comm.rank == 0 else 3), printed  # JAX's own are on every rank

# What the compiler refuses is the same error on every rank.
try:
    sorts = shoal.jax.jit(jnp.sort, mesh=mesh, in_shardings=P("x"), max_replicated_bytes=8)
    sorts(x[:, 0])
except CompileError as error:
    text = str(error)
    assert error.diagnostics[0].severity == "error", text
else:
    raise AssertionError("compiled")
assert comm.allgather(text)[0] == text and "max-replicated-bytes" in text
print(f"rank {comm.rank} is done", flush=True)
