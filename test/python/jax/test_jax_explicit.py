# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Meshes whose axes are Explicit, as those of `jax.make_mesh` are: shardings are part of JAX's types."""

import os
import subprocess
import sys

import pytest
from paths import PATHS

pytest.importorskip("jax")

# Plain arrays with in_shardings would have replicated types, by which JAX gathers all that it derives.
SCRIPT = """
import jax, jax.numpy as jnp, numpy as np, shoal.jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((2,), ("d",), axis_types=(AxisType.Explicit,))
rows, whole = NamedSharding(mesh, P("d")), NamedSharding(mesh, P())
x, w = np.arange(64, dtype=np.float32).reshape(8, 8) / 64, np.eye(8, dtype=np.float32)

def loss(x, w):
    return jnp.sum(jax.nn.relu(x @ w["w"]))

def sent(*arguments, in_shardings, out=None):
    step = jax.value_and_grad(loss)
    with jax.set_mesh(mesh):
        exe = shoal.jax.compile(step, *arguments, in_shardings=in_shardings, mesh=mesh)
    expected = jax.jit(step)(x, {"w": w})
    for found, wanted in zip(jax.tree.leaves(exe.run(x, {"w": w})), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    return sum(exe.stats["bytes_sent_per_device"].values())

# The loss alone is summed over devices: by a prefix, by a tree, and by types that are given.
assert sent(x, {"w": w}, in_shardings=(rows, whole)) == 4
assert sent(x, {"w": w}, in_shardings=(rows, {"w": whole})) == 4
typed = jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=rows), {"w": jax.ShapeDtypeStruct(w.shape, w.dtype, sharding=whole)}
assert sent(*typed, in_shardings=(rows, whole)) == 4
"""


def test_arrays_have_the_types_of_their_shardings():
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(PATHS),
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    subprocess.run([sys.executable, "-c", SCRIPT], env=variables, check=True, timeout=240)
