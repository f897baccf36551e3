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

# JAX refuses them for arguments that are split, and takes them for plain ones.
WITHOUT_TYPES = """
import jax, jax.numpy as jnp, numpy as np, shoal.jax
from jax.sharding import NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((2,), ("d",))
x = np.arange(8, dtype=np.float32)
functions = {
    "outer": lambda x: jnp.outer(x, x),
    "dot": lambda x: jnp.vdot(x, x),
    "reshard": lambda x: jax.sharding.reshard(jnp.outer(x, x), P()) @ x,
    "reshard to a sharding": lambda x: jax.sharding.reshard(jnp.outer(x, x), NamedSharding(mesh, P("d"))) @ x,
    "mean": lambda x: jnp.reshape(x, (4, 2)).mean(0),
}
for name, function in functions.items():
    for spec in (P("d"), NamedSharding(mesh, P("d"))):
        found = shoal.jax.jit(function, in_shardings=spec, mesh=mesh)(x)
        with jax.set_mesh(mesh):
            wanted = jax.jit(function)(x)
            exe = shoal.jax.compile(function, x, in_shardings=spec)
        np.testing.assert_allclose(exe.run(x), wanted, rtol=1e-5, err_msg=name)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=name)
        assert exe.executable.inputs[0].local_shape == (4,), name

typed = jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=NamedSharding(mesh, P("d")))
try:
    shoal.jax.compile(functions["outer"], typed, mesh=mesh)
except jax._src.core.ShardingTypeError as error:
    assert "illegally sharded" in str(error)
else:
    raise AssertionError("types that the caller gave are JAX's to judge")
"""


def test_programs_that_have_no_types():
    run(WITHOUT_TYPES)


def test_arrays_have_the_types_of_their_shardings():
    run(SCRIPT)


def run(script: str) -> None:
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(PATHS),
        "XLA_FLAGS": "--xla_force_host_platform_device_count=2",
    }
    subprocess.run([sys.executable, "-c", script], env=variables, check=True, timeout=240)
