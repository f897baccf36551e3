# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of shoal.moe in both worlds of arrays: the frontend's values, and JAX's arrays, where XLA is the oracle."""

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec

import jax_text
import moe_worlds as worlds
import shoal.jax
from frontend_testing import assert_leaves_same, assert_same, evaluate, shoal
from moe_layouts import CASES as PLACES
from moe_layouts import statistics
from moe_worlds import LAYOUTS, ROUTERS, arrays_of, cases, loss_of
from shoal_testing import ROOT
from shoal import P
from shoal.arrays import mesh_of, named_shardings, ragged_einsum
from shoal.mesh import Axis
from shoal.layers import attention, cross_entropy
from shoal.moe import Layout, MoeConfig, init_params, moe, moe_layer, noise, param_shapes, param_shardings

CASES = cases()
TIGHT = {"moe_group_size": 8, "gated_linear_unit": True, "hidden_act": "silu"}


def steps(sum_of, value_and_grad, router, layout):
    """{dispatcher: losses, results and gradients} of parameters and tokens, in one of the worlds."""
    options = {"training": True} if router == "Sinkhorn" else {}

    def run(params, x, further):
        return {
            dispatcher: value_and_grad(loss_of(sum_of, config, layout, **options), (0, 1), has_aux=True)(
                params[dispatcher], x, further
            )
            for (of, dispatcher), config in CASES.items()
            if of == router
        }

    return run


def arguments(router):
    chosen = {dispatcher: config for (of, dispatcher), config in CASES.items() if of == router}
    made = {dispatcher: arrays_of(config) for dispatcher, config in chosen.items()}
    _, x, further = next(iter(made.values()))
    return {dispatcher: params for dispatcher, (params, _, _) in made.items()}, x, further


@pytest.mark.parametrize("router", ROUTERS)
def test_losses_results_and_gradients_are_those_of_xla(tmp_path, router):
    """Of every dispatcher, on one device."""
    given = arguments(router)
    native = evaluate(tmp_path, steps(shoal.sum, shoal.value_and_grad, router, Layout()), *given)
    of_xla = jax.jit(steps(jnp.sum, jax.value_and_grad, router, Layout()))(*jax.tree.map(jnp.asarray, given))
    assert_leaves_same(native, jax.tree.map(np.asarray, of_xla), 2e-6)


@pytest.mark.parametrize("router", ["late softmax", pytest.param("DeepSeek-V3", marks=pytest.mark.long)])
def test_layouts_in_xla_are_the_frontends_one_device(tmp_path, router):
    """Of every dispatcher, on 2 to 8 devices of XLA's host, with exchanges of rows that this has not; the script alone takes
    every router."""
    if router != "late softmax" and not os.environ.get("SHOAL_LONG"):
        pytest.skip("SHOAL_LONG=1 runs it")
    layouts = list({**LAYOUTS, **worlds.NODES}) if os.environ.get("SHOAL_LONG") else ["EP 2, ETP 2", "EP 4, 2 nodes"]
    script, found = ROOT / "test/conformance/both_worlds.py", tmp_path / "found.json"
    command = [sys.executable, script, "--routers", router, "--layouts", *layouts, "--json", found]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    by_dispatcher = json.loads(found.read_text())[router]
    assert {name: list(of_layouts) for name, of_layouts in by_dispatcher.items()} == {
        name: [layout for layout in layouts if layout in worlds.layouts_of(name)] for name in (*worlds.DISPATCHERS, worlds.BY_NODES)
    }


def config_of(**fields):
    return MoeConfig.flat(worlds.E, worlds.H, **{**TIGHT, **fields})


def test_transformations_of_jax():
    """Eager, jit, vmap, remat and forward mode are one function; NumPy's parameters are taken for JAX's."""
    config = config_of(moe_aux_loss_coeff=0.1)
    params, x, _ = arrays_of(config)

    def y(x):
        return moe(x, params, config).y

    eager = y(jnp.asarray(x))
    assert isinstance(eager, jax.Array)
    assert_same("jit", np.asarray(jax.jit(y)(x)), eager, None, 1e-6)
    halves = jnp.stack([x[:4], x[4:]])
    assert_same("vmap", np.asarray(jax.vmap(y)(halves)).reshape(x.shape), eager, None, 1e-6)
    tangent = np.ones_like(x)
    forward = jax.jvp(y, (x,), (tangent,))[1]
    pulled = jax.vjp(jax.checkpoint(y), jnp.asarray(x))[1](jnp.ones_like(eager))[0]
    np.testing.assert_allclose(float(forward.sum()), float((pulled * tangent).sum()), rtol=1e-4)


def test_routers_without_a_group_read_no_row_of_it():
    """What stands in rows of no group, NaN too, reaches nothing: both worlds' products of groups."""
    rows = np.full((1, 4, 2), np.nan, np.float32)
    rows[:, 1:3] = 1
    matrices, begins, ends = np.ones((1, 2, 2, 3), np.float32), np.array([[[1, 2]]]), np.array([[[2, 3]]])
    given = rows, matrices, begins.astype(np.int32), ends.astype(np.int32)
    made = ragged_einsum("GTM,DEMH,GDE->DGTH", "T", *map(jnp.asarray, given))
    assert np.asarray(made)[0, 0, :, 0].tolist() == [0, 2, 2, 0]


NOISY = {
    "jitter": {"moe_input_jitter_eps": 0.1},
    "Tutel's": {"gate_noise": 1.0},
    "random second": {"second_policy": "random", "moe_expert_capacity_factor": 1.0},
    "Gumbel second": {"second_policy": "gumbel", "moe_router_pre_softmax": True},
    "RSample": {"noisy_gate_policy": "RSample", "moe_router_topk": 1},
    "random drops": {"moe_token_drop_policy": "random", "moe_expert_capacity_factor": 1.0},
    "forced": {"moe_router_force_load_balancing": True},
}  # fmt: skip


@pytest.mark.parametrize("name", NOISY)
def test_noise_of_equal_draws(tmp_path, monkeypatch, name):
    """Each world draws by a generator of its own; of the same numbers results are the same."""
    config = config_of(**NOISY[name])
    params, x, _ = arrays_of(config)

    def drawn(key, shape, dtype="float32", *, like):
        numbers = np.random.default_rng(len(shape)).random(shape)
        return numbers.astype(dtype) if isinstance(like, shoal.Value) else jnp.asarray(numbers, dtype)

    monkeypatch.setattr(noise, "uniform", drawn)
    monkeypatch.setattr(noise, "normal", drawn)
    native = evaluate(tmp_path, lambda p, x, key: moe(x, p, config, key=key).y, params, x, np.array([1, 2], np.int32))
    of_xla = jax.jit(lambda p, x, key: moe(x, p, config, key=key).y)(params, x, jax.random.key(1))
    assert_same(name, np.asarray(of_xla), native, None, 2e-6)


def test_keys_of_both_kinds():
    config = config_of(gate_noise=1.0)
    params, x, _ = arrays_of(config)
    of_words, typed = (
        moe(jnp.asarray(x), params, config, key=key).y for key in (np.array([0, 7], np.int32), jax.random.key(7))
    )
    assert np.array_equal(of_words, typed)
    assert not np.array_equal(of_words, moe(jnp.asarray(x), params, config).y)


def test_attention_and_labels(tmp_path):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, 8, 2, 4)).astype(np.float32) for _ in range(3))
    mask = rng.random((8, 8)) < 0.7
    labels = rng.integers(0, 4, (2, 8, 2)).astype(np.int32)

    def loss(q, k, v, mask, labels):
        return cross_entropy(attention(q, k, v, mask=mask, causal=True), labels, mask=labels != 2)

    native = evaluate(tmp_path, shoal.value_and_grad(loss, (0, 1, 2)), q, k, v, mask, labels)
    of_xla = jax.jit(jax.value_and_grad(loss, (0, 1, 2)))(q, k, v, mask, labels)
    assert_leaves_same(native, jax.tree.map(np.asarray, of_xla), 2e-6)


@pytest.mark.parametrize("dispatcher, layout", [("all-to-all", "EP 4"), ("slots", "EP 4"), (worlds.BY_NODES, "EP 4, 2 nodes")])
def test_shoal_jax_jit_on_four_ranks(dispatcher, layout):
    """The layer of JAX's world in our executable: losses and gradients are those of jax.jit on one device."""
    config, layout = CASES["late softmax", dispatcher], worlds.layouts_of(dispatcher)[layout]
    params, x, further = arrays_of(config)
    stored, place = param_shardings(config, layout), layout.P("outside")
    places = named_shardings((stored, place, dict.fromkeys(further, place)), layout.mesh)

    def step(layout):
        return jax.value_and_grad(loss_of(jnp.sum, config, layout), (0, 1), has_aux=True)

    many = shoal.jax.jit(step(layout), mesh=mesh_of(layout.mesh), in_shardings=places)(params, x, further)
    one = jax.jit(step(Layout()))(params, x, further)
    assert_leaves_same(jax.tree.map(lambda leaf: leaf.numpy(), many), jax.tree.map(np.asarray, one), 1e-5)


def of_both_worlds(case):
    """{collective: bytes} of a device of a layer with its pullback, of the frontend's program and of JAX's."""
    layout, config = case.layout, case.config()
    stored, outside = param_shardings(config, layout), layout.P("outside")
    shapes, x = param_shapes(config, case.model), (case.groups, case.group, case.model)

    def native(x, params, dy):
        y, pull = shoal.vjp(lambda x, p: layout.spread(moe(x, p, config, layout).y, "outside"), x, params)
        return y, *pull(dy)

    def of_jax(x, params, dy):
        y, pull = jax.vjp(lambda x, p: layout.spread(moe(x, p, config, layout).y, "outside"), x, params)
        return y, *pull(dy)

    spec = {name: shoal.TensorSpec(shape, "float32", stored[name]) for name, shape in shapes.items()}
    tokens = shoal.TensorSpec(x, "float32", outside)
    given, outs = (tokens, spec, tokens), (outside, outside, stored)
    text = shoal.trace(native, given, layout.mesh, out_shardings=outs)
    imported = jax_text.trace(of_jax, given, layout.mesh, out_shardings=outs)
    return statistics(text)[0], statistics(imported)[0]


@pytest.mark.parametrize("name", PLACES)
def test_bytes_of_both_worlds(name):
    """What the layouts of docs/results/Layouts.md send, by each collective."""
    native, of_jax = of_both_worlds(PLACES[name])
    assert native == of_jax


def test_shardings_of_a_layout():
    layout, config = LAYOUTS["EP 4, EDP 2"], config_of()
    places = named_shardings(param_shardings(config, layout), layout.mesh)
    assert places["wi"].spec == PartitionSpec(layout.axes("ep"), None, None)
    assert set(places) == set(param_shapes(config, 16)) and isinstance(places["router"], NamedSharding)
    with pytest.raises(shoal.TraceError, match="mesh_of: 1 devices for the 8 of Mesh"):
        mesh_of(layout.mesh, jax.devices()[:1])
    with pytest.raises(shoal.UnsupportedError, match='axis "x1":\\(1\\)2 is a part of one'):
        named_shardings(P(Axis("x1", 1, 2)), layout.mesh)


def test_gshards_layer_is_the_frontends(tmp_path):
    """Also its gradients, and its annotations over a mesh that is set."""
    rng = np.random.default_rng(7)
    shapes = ((4, 16, 8), (8, 8), (8, 8, 12), (8, 12, 8))
    args = tuple((rng.standard_normal(shape) / 3).astype(np.float32) for shape in shapes)

    def of_world(sum_of, value_and_grad):
        def loss(*args):
            out = moe_layer(*args, capacity=3)
            return sum_of(out.y * out.y) + out.aux, out

        return value_and_grad(loss, (0, 1, 2, 3), has_aux=True)

    expected = evaluate(tmp_path, of_world(shoal.sum, shoal.value_and_grad), *args)
    of_jax = of_world(jnp.sum, jax.value_and_grad)
    assert_leaves_same(jax.jit(of_jax)(*args), expected, 1e-6)
    with jax.sharding.use_abstract_mesh(mesh_of(shoal.Mesh(expert=4))):
        annotated = str(jax.make_jaxpr(lambda *args: moe_layer(*args, capacity_factor=1.25).y)(*map(jnp.asarray, args)))
    assert annotated.count("sharding_constraint[") > 4 and "sharding_constraint[" not in str(jax.make_jaxpr(of_jax)(*args))


def test_errors_are_those_of_the_frontend():
    config = config_of()
    params, x, _ = arrays_of(config)
    with pytest.raises(shoal.TraceError, match=r"moe: 24 tokens of \[3, 8, 16\] in groups of 16"):
        moe(jnp.asarray(x[:3]), params, config.replace(moe_group_size=16))
    with pytest.raises(shoal.TraceError, match='moe: parameter "wi" is missing'):
        moe(jnp.asarray(x), {"router": params["router"]}, config)
    with pytest.raises(shoal.TraceError, match="only inside of a function that shoal.jit"):
        moe(x, params, config)  # NumPy's alone are of no world
