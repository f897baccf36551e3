# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`jax.custom_partitioning`: the function itself is compiled, and split by its own ops."""

import os
import subprocess
import sys

import numpy as np
import pytest
from paths import PATHS

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from jax_import_testing import auto_mesh

import shoal.jax

MESH = auto_mesh((4,), ("x",))
X = np.random.default_rng(0).standard_normal((8, 6)).astype(np.float32)


@custom_partitioning
def sorted_rows(x):
    return jnp.sort(x, axis=1) * 2.0


def _partition(mesh, arguments, result):
    raise AssertionError("nobody asks for parts")


sorted_rows.def_partition(_partition, sharding_rule="i j -> i j", need_replication_factors=("j",))


def test_the_function_is_split_by_its_own_ops():
    # JAX asks for a list of devices where it writes a call for XLA: here there are none.
    rows = jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=NamedSharding(MESH, P("x")))
    exe = shoal.jax.compile(lambda x: jnp.tanh(sorted_rows(x)), rows, mesh=MESH, out_shardings=P("x"))
    assert exe.stats["collectives"] == {}
    np.testing.assert_allclose(exe.run(X), np.tanh(2 * np.sort(X, 1)), rtol=1e-5)


# A module for XLA has the callbacks' name alone.
LOWERED = """
import gc, jax, jax.numpy as jnp, numpy as np
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec as P
from shoal import UnsupportedError
from shoal.jax import import_stablehlo

@custom_partitioning
def double(x, y):
    return x * 2.0 + y

def partition(mesh, arguments, result):
    return mesh, lambda x, y: x * 2.0 + y, result.sharding, tuple(a.sharding for a in arguments)

double.def_partition(partition, sharding_rule="a b, a b -> a b")
mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
with mesh:
    lowered = jax.jit(double, in_shardings=NamedSharding(mesh, P("d"))).lower(jnp.ones((8, 4)), jnp.ones((8, 4)))
module = lowered.as_text()
assert "CustomSPMDPartitioning" in module
text = import_stablehlo(lowered)
assert "arith.mulf" in text and "arith.addf" in text
del lowered
jax.clear_caches()
gc.collect()
try:
    import_stablehlo(module.replace('backend_config = "', 'backend_config = "0'))
except UnsupportedError as error:
    assert "its function is known to the process alone that lowered it" in str(error)
else:
    raise AssertionError("nobody knows its function")
"""


def test_a_module_for_xla_asks_the_callback_for_the_whole():
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, PATHS))
    subprocess.run([sys.executable, "-c", LOWERED], env=environment, check=True, timeout=120)
