# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.jax.compile: functions and pytrees in, results as JAX's."""

import importlib.util

import numpy as np
import pytest

pytest.importorskip("jax")
if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)

import jax
import jax.numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from jax_import_testing import auto_mesh

import shoal.jax
from shoal import InputError, RunError, TraceError, UnsupportedError

MESH = auto_mesh((2, 2), ("x", "y"))
ROWS, COLUMNS = NamedSharding(MESH, P("x")), NamedSharding(MESH, P(None, "y"))


def array(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def check(function, *arguments, **options):
    """Compiles, runs on 4 processes and compares with JAX on one device."""
    compiled = shoal.jax.compile(function, *arguments, **options)
    assert compiled.devices == 4
    results, expected = compiled.run(*arguments), function(*arguments)
    assert jax.tree.structure(results) == jax.tree.structure(expected)
    for got, wanted in zip(jax.tree.leaves(results), jax.tree.leaves(expected)):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    return compiled


def test_named_shardings():
    compiled = check(
        lambda x, w: jnp.tanh(x @ w),
        *(array(8, 4), array(4, 6)),
        in_shardings=(ROWS, COLUMNS),
        out_shardings=NamedSharding(MESH, P("x", "y")),
    )
    assert 'tensor<4x3xf32>' in compiled.spmd()
    assert compiled.stats["devices"] == 4 and not compiled.stats["bytes_sent_per_device"]
    assert "shoal.mesh" in compiled.text


def test_donated_arguments_save_memory():
    def step(x, g):
        return x - 0.5 * g

    arguments, shardings = (array(64, 64), array(64, 64, seed=1)), (ROWS, ROWS)
    options = {"in_shardings": shardings, "out_shardings": ROWS}
    kept = check(step, *arguments, **options).stats["peak_bytes_per_device"]
    donated = check(step, *arguments, donate_argnums=0, **options).stats["peak_bytes_per_device"]
    assert kept - donated == 32 * 64 * 4  # one shard


def test_trees_and_arguments_that_nothing_reads():
    def step(state, batch):
        weights = jax.tree.map(lambda w: w * 0.5, state["weights"])
        return {"weights": weights, "loss": (batch[0].sum(), None)}

    state = {"weights": [array(4, 4), array(4, seed=1)], "unused": array(3)}
    check(step, state, (array(8, 4), array(2)), mesh=MESH, in_shardings=(None, P("x")))


def test_jitted_function_and_its_shardings():
    jitted = jax.jit(lambda x, unused: x.sum(0), in_shardings=(ROWS, None))
    compiled = shoal.jax.compile(jitted, array(8, 4), array(2))
    result = compiled.run(array(8, 4), array(2))
    np.testing.assert_allclose(result, array(8, 4).sum(0), rtol=1e-5)
    assert compiled.stats["bytes_sent_per_device"]


def test_shapes_that_carry_shardings():
    shape = jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=ROWS)
    compiled = shoal.jax.compile(lambda x: x * 2, shape)
    np.testing.assert_allclose(compiled.run(array(8, 4)), array(8, 4) * 2)


def test_static_arguments_and_keywords():
    def power(x, n, *, scale):
        return x**n * scale

    compiled = shoal.jax.compile(
        lambda x, n: power(x, n, scale=2.0), array(8), 3, static_argnums=1, mesh=MESH
    )
    np.testing.assert_allclose(compiled.run(array(8)), array(8) ** 3 * 2, rtol=1e-5)


def test_specs_inside_of_the_function():
    def function(x):
        return jax.lax.with_sharding_constraint(x + 1, P("y"))

    compiled = shoal.jax.compile(function, array(8, 4), mesh=MESH)
    np.testing.assert_allclose(compiled.run(array(8, 4)), array(8, 4) + 1)
    assert '{"y"}' in compiled.text


def test_the_mesh_around_the_call():
    x = np.ones((8, 4), np.float32)
    with jax.sharding.use_abstract_mesh(MESH):
        compiled = shoal.jax.compile(lambda x: x * 2, x, in_shardings=(P("x"),))
    assert compiled.devices == MESH.size
    assert compiled.executable.inputs[0].sharding == '<@mesh, [{"x"}, {}]>'


def test_keys_and_unsigned_integers():
    def function(key, bits):
        first, second = jax.random.split(key)
        return jax.random.uniform(first, (8,)), second, bits // 3

    compiled = shoal.jax.compile(function, jax.random.key(1), np.uint32([2**31]), mesh=MESH)
    numbers, key, bits = compiled.run(jax.random.key(1), np.uint32([2**31]))
    expected = function(jax.random.key(1), np.uint32([2**31]))
    np.testing.assert_array_equal(numbers, expected[0])
    np.testing.assert_array_equal(*map(jax.random.key_data, (key, expected[1])))
    assert bits.dtype == np.uint32 and bits[0] == 2**31 // 3


def test_saved_programs(tmp_path):
    compiled = shoal.jax.compile(
        lambda tree: {"sum": tree["a"] + tree["b"][0]},
        {"a": array(8), "b": [array(8, seed=1)]},
        mesh=MESH,
    )
    compiled.save(tmp_path / "program")
    loaded = shoal.load(tmp_path / "program")
    result = loaded.run(({"a": array(8), "b": [array(8, seed=1)]},))
    np.testing.assert_allclose(result["sum"], array(8) + array(8, seed=1))


@pytest.mark.parametrize(
    "kind, message, options",
    [
        (TraceError, "no mesh: pass in_shardings", {}),
        (TraceError, "a PartitionSpec needs mesh=", {"in_shardings": P("x")}),
    ],
)
def test_no_mesh(kind, message, options):
    with pytest.raises(kind, match=message):
        shoal.jax.compile(lambda x: x + 1, array(8), **options)


def test_shapes_that_are_not_static():
    shape = jax.ShapeDtypeStruct(jax.export.symbolic_shape("rows, 4"), jnp.float32)
    with pytest.raises(TraceError, match=r"argument\[0\]: size rows of \(rows, 4\) is not static"):
        shoal.jax.compile(lambda x: x + 1, shape, mesh=MESH)


def test_unsupported_ops_are_named_with_their_line():
    with pytest.raises(UnsupportedError, match=r"test_jax_compile.py:\d+.*gees"):
        shoal.jax.compile(lambda x: jax.lax.linalg.schur(x), array(8, 8), mesh=MESH)


def test_shardings_of_a_jitted_function_are_its_own():
    with pytest.raises(TraceError, match="jitted already: give in_shardings to jax.jit"):
        shoal.jax.compile(jax.jit(lambda x: x), array(8), mesh=MESH, in_shardings=P("x"))


@pytest.fixture(scope="module")
def doubled():
    return shoal.jax.compile(lambda x, y: x * 2 + y, array(8), array(8), mesh=MESH)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((array(7), array(8)), r"expected shape \[8\] but got \[7\]"),
        ((array(8, dtype=np.float64), array(8)), "expected float32 but got float64"),
        ((array(8),), "inputs: expected PyTreeDef"),
        (({"x": array(8)}, array(8)), "inputs: expected PyTreeDef"),
    ],
)
def test_inputs_that_do_not_fit(doubled, arguments, message):
    with pytest.raises(InputError, match=message):
        doubled.run(*arguments)


def test_time_limit(doubled):
    with pytest.raises(RunError):
        doubled.executable.run((array(8), array(8)), timeout=0.001)
