# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that JAX's types say are unreduced: devices hold addends of them."""

import importlib.util

import numpy as np
import pytest

pytest.importorskip("jax")
if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from jax_import_testing import auto_mesh

from shoal_testing import TARGET

import shoal.jax

if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

MESH = AbstractMesh((4,), ("x",), axis_types=(AxisType.Explicit,))
UNREDUCED = P(None, None, unreduced={"x"})
A = np.random.default_rng(0).standard_normal((8, 12)).astype(np.float32)
B = np.random.default_rng(1).standard_normal((12, 4)).astype(np.float32)
# The addends of a product whose contracted dimension is split.
ADDENDS = np.stack([A[:, i : i + 3] @ B[i : i + 3] for i in range(0, 12, 3)])


def typed(array, spec):
    return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=NamedSharding(MESH, spec))


SPLIT = (typed(A, P(None, "x")), typed(B, P("x", None)))


def product(a, b):
    return jnp.einsum("ik,kj->ij", a, b, out_sharding=UNREDUCED)


def test_a_product_stays_as_it_is():
    exe = shoal.jax.compile(product, *SPLIT, mesh=MESH)
    assert exe.stats["collectives"] == {}
    (output,) = exe.executable.outputs
    assert output.is_addends and output.shape == (4, 8, 4) and output.local_shape == (1, 8, 4)
    np.testing.assert_allclose(exe.run(A, B), ADDENDS, rtol=1e-5, atol=1e-6)


def test_a_reshard_reduces_it():
    def scattered(a, b):
        return jax.sharding.reshard(product(a, b), P("x", None))

    exe = shoal.jax.compile(scattered, *SPLIT, mesh=MESH)
    assert exe.stats["collectives"] == {"reduce_scatter": 1}
    np.testing.assert_allclose(exe.run(A, B), A @ B, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("spec", [P(None, None), P("x", None)])
def test_a_value_becomes_addends_where_it_is(spec):
    x = A[:, :4]
    exe = shoal.jax.compile(lambda x: jax.sharding.reshard(x, UNREDUCED), typed(x, spec), mesh=MESH)
    assert exe.stats["collectives"] == {}
    addends = exe.run(x)
    assert addends.shape == (4, 8, 4)
    np.testing.assert_array_equal(addends.sum(0), x)


def test_arguments_are_addends_or_whole():
    def twice(u):
        return jax.sharding.reshard(u + u, P(None, None))

    exe = shoal.jax.compile(twice, typed(ADDENDS[0], UNREDUCED), mesh=MESH)
    np.testing.assert_allclose(exe.run(ADDENDS), 2 * (A @ B), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(exe.run(A @ B), 2 * (A @ B), rtol=1e-6)


def test_a_shard_map_gives_and_takes_addends():
    @jax.shard_map(in_specs=(P(None, "x"), P("x", None)), out_specs=UNREDUCED)
    def multiply(a, b):
        return jax.lax.pcast(a @ b, "x", to="unreduced")

    def loss(a, b):
        return jnp.sum(jnp.tanh(jax.sharding.reshard(multiply(a, b), P(None, None))))

    with jax.sharding.use_abstract_mesh(MESH):
        exe = shoal.jax.compile(jax.value_and_grad(loss), *SPLIT, mesh=MESH)
    value, gradient = exe.run(A, B)
    expected = jax.value_and_grad(lambda a, b: jnp.sum(jnp.tanh(a @ b)))(A, B)
    np.testing.assert_allclose(value, expected[0], rtol=1e-5)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-4, atol=1e-5)


def test_steps_take_addends_where_they_lie():
    step = shoal.jax.jit(product, mesh=MESH, in_shardings=(P(None, "x"), P("x", None)))
    first = step(A, B)
    assert first.shape == (8, 4) and first.placement.shape == (4, 8, 4)
    np.testing.assert_allclose([shard.data[0] for shard in first.shards], ADDENDS, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(first), A @ B, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(jnp.sum(first), np.sum(A @ B), rtol=1e-4)
    add = shoal.jax.jit(
        lambda u, v: u + v, mesh=MESH, in_shardings=UNREDUCED, out_shardings=UNREDUCED
    )
    second = add(first, first)
    assert add.moves == 0
    whole = (A @ B).astype(np.float32)
    np.testing.assert_allclose(np.asarray(add(second, whole)), 3 * whole, rtol=1e-4, atol=1e-5)
    read = shoal.jax.jit(lambda u: u * 2.0, mesh=auto_mesh((4,), ("x",)), in_shardings=P("x"))
    np.testing.assert_allclose(np.asarray(read(second)), 4 * whole, rtol=1e-4, atol=1e-5)


def test_whole_functions_of_addends_read_their_sum():
    """JAX's types refuse a maximum of an unreduced value."""
    with pytest.raises(Exception, match="unreduced"):
        shoal.jax.compile(jnp.max, typed(ADDENDS[0], UNREDUCED), mesh=MESH)
