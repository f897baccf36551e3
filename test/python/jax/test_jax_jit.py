# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""shoal.jax.jit over steps: programs, places, keys, meshes around calls, and in an MPI job."""

import gc
import importlib.util
import os
import sys
import tempfile
import weakref
from unittest import mock

import numpy as np
import pytest

pytest.importorskip("jax")
if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P
from jax_import_testing import auto_mesh
from paths import PATHS, SUPPORT
from shoal_testing import TARGET, expect_no_growth, resources_of, run

import shoal.jax

if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

MESH = auto_mesh((2, 2), ("data", "model"))
RNG = np.random.default_rng(0)
X, Y = (RNG.standard_normal(shape).astype(np.float32) for shape in ((32, 8), (32, 4)))


def init():
    weights = {"w1": RNG.standard_normal((8, 16)), "b1": np.zeros(16), "w2": np.ones((16, 4))}
    weights = {name: array.astype(np.float32) for name, array in weights.items()}
    return {"params": weights, "velocity": jax.tree.map(np.zeros_like, weights), "step": 0}


def step(state, key, x, y):
    """Momentum, with dropout: the key goes on in the state's stead."""
    key, now = jax.random.split(key)

    def loss_of(params):
        hidden = jnp.tanh(x @ params["w1"] + params["b1"])
        hidden = hidden * jax.random.bernoulli(now, 0.9, hidden.shape)
        return jnp.mean((hidden @ params["w2"] - y) ** 2)

    loss, gradient = jax.value_and_grad(loss_of)(state["params"])
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, state["velocity"], gradient)
    params = jax.tree.map(lambda p, v: p - 0.05 * v, state["params"], velocity)
    return {"params": params, "velocity": velocity, "step": state["step"] + 1}, key, loss


@pytest.mark.parametrize("donated, count", [((), 2), ((0,), 1)])
def test_training(donated, count):
    rows = NamedSharding(MESH, P("data"))
    shardings = (None, None, rows, rows)
    ours = shoal.jax.jit(step, mesh=MESH, in_shardings=shardings, donate_argnums=donated)
    theirs = jax.jit(step)
    state, key = init(), jax.random.key(3)
    expected, expected_key = state, key
    for _ in range(5):
        state, key, loss = ours(state, key, X, Y)
        expected, expected_key, expected_loss = theirs(expected, expected_key, X, Y)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert jax.tree.structure(state) == jax.tree.structure(expected)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), state, expected)
    assert jnp.array_equal(jax.random.key_data(key), jax.random.key_data(expected_key))
    assert int(state["step"]) == 5 and state["step"].__jax_array__().weak_type
    # From JAX 0.11 on the state is of one type from the beginning.
    assert ours.cache_size() in (1, count) and ours.moves == 0
    assert ours.compiled(state, key, X, Y).devices == 4


def test_calls_keep_no_arrays():
    f = shoal.jax.jit(lambda x, y: x * y, mesh=auto_mesh((1,), ("x",)))
    arrays = [shoal.jax.jit(lambda x: x + 1, mesh=auto_mesh((1,), ("x",)))(X), jnp.ones((32, 8))]
    f(*arrays)
    kept = [weakref.ref(array) for array in arrays]
    arrays.clear()
    gc.collect()
    assert [array() for array in kept] == [None, None]


def test_ten_thousand_calls(tmp_path, monkeypatch):
    """Neither memory, mappings, open files nor files grow, here or in the workers. SHOAL_CALLS says
    how many calls there are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    mesh = auto_mesh((2,), ("x",))

    def step(state, batch):
        return jax.tree.map(lambda leaf: leaf + batch.sum(), state), (state["w"] * batch).sum()

    with shoal.launch(2) as devices:
        jitted = shoal.jax.jit(
            step, mesh=mesh, in_shardings=(P("x"), P("x")), donate_argnums=0, devices=devices
        )
        state, losses = {"w": np.ones(64, np.float32), "b": np.zeros(2, np.float32)}, []
        processes = [os.getpid(), *(c.process for c in devices._workers._connections)]

        def call(count):
            nonlocal state
            for number in range(count):
                state, loss = jitted(state, np.full(64, number % 2, np.float32))
                losses[:] = [*losses[-9:], loss]
            gc.collect()
            files = sorted(str(path) for path in tmp_path.rglob("*"))
            return [resources_of(process) for process in processes], devices.memory.in_use, files

        before, in_use, files = call(500)
        after, in_use_after, files_after = call(int(os.environ.get("SHOAL_CALLS", "10000")))
        assert (in_use_after, files_after) == (in_use, files)
        for one, other in zip(before, after):
            expect_no_growth(one, other)
        assert (jitted.cache_size(), devices.starts) == (1, 1)


def test_meshes_around_calls():
    def split(x):
        return jax.lax.with_sharding_constraint(x + 1, P("a"))

    f = shoal.jax.jit(split)
    for size in (2, 4, 2):
        mesh = auto_mesh((size,), ("a",))
        with jax.sharding.use_abstract_mesh(mesh):
            assert f(X).placement.local_shape == (32 // size, 8)
    assert f.cache_size() == 2


def test_arrays_of_jax_with_shardings():
    """As many devices as JAX has, which is one here: abstract ones carry them."""
    f = shoal.jax.jit(lambda x: x + 1)
    spec = jax.ShapeDtypeStruct((32, 8), jnp.float32, sharding=NamedSharding(MESH, P("model")))
    compiled = f.compiled(spec)
    assert compiled.executable.inputs[0].sharding == '<@mesh, [{"model"}, {}]>'
    assert compiled.report().startswith("<!") and "stablehlo" not in compiled.text
    np.testing.assert_allclose(compiled.run(X), X + 1)  # by mpirun


def test_saved_programs_have_the_arrays_that_are_read(tmp_path):
    f = shoal.jax.jit(lambda unused, x: {"y": x * 2}, mesh=auto_mesh((2,), ("x",)))
    f.compiled(Y, X).save(tmp_path / "program")
    loaded = shoal.load(tmp_path / "program")
    assert [tensor.name for tensor in loaded.inputs] == ["x"]
    np.testing.assert_allclose(loaded.run({"x": X})["result.y"], X * 2)


def test_mpi_job():
    """Every rank calls; rank 0 compiles."""
    script = SUPPORT / "jit_ranks.py"
    with mock.patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(PATHS)}):
        done = run("mpirun", "-n", 2, sys.executable, script, timeout=120)
    assert done.code == 0, done.stderr
    assert done.stdout.count("is done") == 2  # mpirun may put two ranks' lines into one


def test_the_sharding_of_a_result():
    """As the program's mesh says it; JAX's own functions, which compute on their device, see none."""
    mesh = auto_mesh((2, 2), ("x", "y"))
    rows = NamedSharding(mesh, P(("x", "y"), None))
    z = shoal.jax.jit(lambda x: x * 2, in_shardings=NamedSharding(mesh, P("x")), out_shardings=rows)(jnp.ones((8, 4)))
    assert z.sharding == rows and isinstance(z.sharding.mesh, AbstractMesh)
    again = shoal.jax.jit(lambda x: x + 1, in_shardings=z.sharding)
    assert again(z).sharding.spec[0] == ("x", "y") and not again.moves
    whole = shoal.jax.jit(lambda x: x, in_shardings=NamedSharding(mesh, P()), out_shardings=NamedSharding(mesh, P()))
    assert whole(z).sharding.spec == P(None, None)
    assert jax.jit(jnp.sum)(z) == 64 and jnp.sum(z) == 64 and jax.device_put(z).shape == (8, 4)
    assert jax.vmap(jnp.sum)(z).shape == (8,)
