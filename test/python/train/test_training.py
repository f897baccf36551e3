# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of the frontend's own gradients and optimisers, beside JAX and optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import shoal
from frontend_testing import evaluate
from shoal import P
from shoal_testing import BIN, load_json, run

RNG = np.random.default_rng(7)
STEPS = 12


def parameters():
    sizes = {"embed": (11, 8), "wi": (3, 8, 16), "wo": (3, 16, 8), "scale": (3, 8), "out": (8, 11)}
    return {
        name: (RNG.standard_normal(shape) * 0.4).astype(np.float32) for name, shape in sizes.items()
    }


def batches():
    for _ in range(STEPS):
        tokens = RNG.integers(0, 11, (8, 6)).astype(np.int32)
        yield tokens, np.roll(tokens, -1, 1)


def model_of(m, softmax, scan, one_hot):
    """A scan over layers of a residual network between an embedding and a cross entropy."""

    def layer(x, weights):
        y = x * (1 + weights["scale"])
        y = m.einsum("BTH,HM->BTM", m.tanh(m.einsum("BTM,MH->BTH", y, weights["wi"])), weights["wo"])
        return x + y, ()

    def loss(params, tokens, labels):
        x = params["embed"][tokens]
        x, _ = scan(layer, x, {name: params[name] for name in ("wi", "wo", "scale")})
        chances = softmax(m.einsum("BTM,MV->BTV", x, params["out"]))
        chosen = m.sum(chances * one_hot(labels, 11), -1)
        return -m.mean(m.log(chosen))

    return loss


def test_losses_are_those_of_jax_and_optax():
    """Data parallel on four devices that stay; the state is donated from step to step."""
    ours = model_of(shoal, shoal.softmax, shoal.scan, lambda i, n: shoal.one_hot(i, n, "float32"))
    theirs = model_of(jnp, jax.nn.softmax, jax.lax.scan, jax.nn.one_hot)
    clip = 0.5
    optimizer = shoal.optim.chain(
        shoal.optim.clip_by_global_norm(clip),
        shoal.optim.adamw(shoal.optim.warmup_cosine(3e-2, 3, STEPS)),
    )
    reference = optax.chain(
        optax.clip_by_global_norm(clip),
        optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 3e-2, 3, STEPS)),
    )
    mesh = shoal.Mesh(data=4)

    def step(state, tokens, labels):
        params, optimizer_state = state
        tokens, labels = (shoal.constrain(x, P("data", None)) for x in (tokens, labels))
        value, grads = shoal.value_and_grad(ours)(params, tokens, labels)
        updates, optimizer_state = optimizer.update(grads, optimizer_state, params)
        return (shoal.optim.apply_updates(params, updates), optimizer_state), value

    @jax.jit
    def reference_step(state, tokens, labels):
        params, optimizer_state = state
        value, grads = jax.value_and_grad(theirs)(params, tokens, labels)
        updates, optimizer_state = reference.update(grads, optimizer_state, params)
        return (optax.apply_updates(params, updates), optimizer_state), value

    start = parameters()
    expected, actual = [], []
    reference_state = start, reference.init(start)
    with shoal.launch(4) as devices:
        jitted = shoal.jit(step, mesh=mesh, donate_argnums=0, devices=devices)
        state = start, optimizer.init(start)
        for tokens, labels in batches():
            state, value = jitted(state, tokens, labels)
            actual.append(float(value))
            reference_state, value = reference_step(reference_state, tokens, labels)
            expected.append(float(value))
        final = jax.tree.map(lambda leaf: leaf.numpy(), state[0])
    assert max(abs(a - e) for a, e in zip(actual, expected)) < 1e-5, (actual, expected)
    assert expected[-1] < expected[0] - 0.1
    for name, leaf in final.items():
        np.testing.assert_allclose(leaf, reference_state[0][name], rtol=0, atol=2e-4, err_msg=name)


def costs_of(tmp_path, text):
    """What shoalc says of the program where bytes alone count."""
    source, costs = tmp_path / "step.mlir", tmp_path / "costs.json"
    source.write_text(text)
    flags = ["--emit=spmd", "--flops-per-byte=1000", "-o", "/dev/null", "--stats", costs]
    run(BIN / "shoalc", source, *flags).expect_success()
    return load_json(costs)


def bytes_and_collectives(costs):
    """Bytes that a device sends, and how many collectives of each kind it runs."""
    return sum(costs["bytes_sent_per_device"].values()), costs["collectives"]


# What is split over "data": parameters, the optimiser's moments, gradients.
LAYOUTS = {
    "data parallel": (),
    "ZeRO-1": ("moments",),
    "ZeRO-2": ("moments", "gradients"),
    "ZeRO-3": ("moments", "gradients", "parameters"),
}


@pytest.mark.parametrize("micro_batches", [1, 4])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_zero_is_a_matter_of_annotations(tmp_path, layout, micro_batches):
    """Two layers of 64 x 64, Adam: 2 P (d - 1) / d bytes and the loss, however the state lies,
    each sum made once."""
    weights = {name: np.float32(RNG.standard_normal((64, 64)) / 8) for name in "ab"}
    optimizer, mesh = shoal.optim.adam(1e-3), shoal.Mesh(data=4)
    state = optimizer.init(weights)
    split = shoal.optim.split_over("data", weights, mesh)
    whole = {name: P() for name in weights}
    moments, gradients, parameters = (
        split if name in LAYOUTS[layout] else whole for name in ("moments", "gradients", "parameters")
    )

    def loss(weights, x):
        return shoal.mean(shoal.square(shoal.tanh(shoal.tanh(x @ weights["a"]) @ weights["b"])))

    def step(weights, state, x):
        value, grads = shoal.optim.accumulate(loss, micro_batches)(weights, x)
        if gradients is split:
            grads = {name: shoal.constrain(g, split[name]) for name, g in grads.items()}
        updates, state = optimizer.update(grads, state, weights)
        return shoal.optim.apply_updates(weights, updates), state, value

    placed = parameters, shoal.optim.shardings_like(state, weights, moments)
    shardings = {"in_shardings": (*placed, P("data")), "out_shardings": (*placed, None)}
    arguments = (weights, state, np.float32(RNG.standard_normal((1024, 64))))
    costs = costs_of(tmp_path, shoal.trace(step, arguments, mesh, **shardings))
    assert bytes_and_collectives(costs)[0] == 49_158
    assert {entry["runs"] for entry in costs["collective_list"]} == {1}
    one = evaluate(tmp_path, step, *arguments, mesh=mesh, **shardings)
    many = evaluate(tmp_path, step, *arguments, mesh=mesh, devices=4, **shardings)
    for actual, expected in zip(jax.tree.leaves(many), jax.tree.leaves(one), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-6)


def test_gathers_of_zero_3_move_what_is_computed_in(tmp_path):
    """Masters in float32 are split; bfloat16 is gathered, at half the bytes."""
    weights = {"w": np.float32(RNG.standard_normal((64, 64)) / 8)}
    mesh = shoal.Mesh(data=4)
    split = shoal.optim.split_over("data", weights, mesh)

    def step(weights, x):
        narrow = {name: leaf.astype("bfloat16") for name, leaf in weights.items()}
        return shoal.mean(shoal.square(x.astype("bfloat16") @ narrow["w"]).astype("float32"))

    arguments = weights, np.float32(RNG.standard_normal((1024, 64)))
    text = shoal.trace(step, arguments, mesh, in_shardings=(split, P("data")))
    sent, _ = bytes_and_collectives(costs_of(tmp_path, text))
    assert sent == 64 * 64 * 2 * 3 // 4 + 6


def test_gradients_of_experts_are_summed_over_their_copies_alone(tmp_path):
    """Experts over "expert", tokens over both axes: what crosses "expert" is tokens and the
    router's gradient; experts' gradients are summed over "data"."""
    shapes = {"wg": (32, 8), "wi": (8, 32, 128), "wo": (8, 128, 32)}
    params = {name: np.float32(RNG.standard_normal(s) / 6) for name, s in shapes.items()}
    x = np.float32(RNG.standard_normal((8, 64, 32)))
    everywhere = P(("data", "expert"))

    def loss(params, x):
        gates = shoal.softmax(shoal.einsum("GSM,ME->GSE", x, params["wg"]))
        combine, dispatch, aux = shoal.top_k_gating(gates, 2, capacity=16)
        sent = shoal.constrain(shoal.einsum("GSEC,GSM->EGCM", dispatch, x), P("expert", "data"))
        hidden = shoal.relu(shoal.einsum("EGCM,EMH->EGCH", sent, params["wi"]))
        made = shoal.constrain(shoal.einsum("EGCH,EHM->GECM", hidden, params["wo"]), everywhere)
        y = shoal.einsum("GSEC,GECM->GSM", combine, made)
        return shoal.mean(shoal.square(y)) + 0.01 * aux

    mesh = shoal.Mesh(data=2, expert=4)
    placed = {"wg": P(), "wi": P("expert"), "wo": P("expert")}
    text = shoal.trace(
        shoal.value_and_grad(loss),
        (params, x),
        mesh,
        in_shardings=(placed, everywhere),
        out_shardings=(None, placed),
    )
    sums = [
        (entry["axes"], entry["bytes"])
        for entry in costs_of(tmp_path, text)["collective_list"]
        if entry["kind"] != "all_to_all"
    ]
    experts = 2 * 8 * 32 * 128 * 4 // 4  # bytes of wi and wo on a device
    over_data = sum(sent for axes, sent in sums if axes == '{"data"}')
    assert over_data == 2 * experts // 2
    assert sum(sent for axes, sent in sums if axes != '{"data"}') < 2 * params["wg"].nbytes


def test_the_layer_of_gshard(tmp_path):
    """All-to-alls forth and back, forward and backward; what is replicated in one all-reduce."""
    shapes = {"wg": (32, 8), "wi": (8, 32, 128), "wo": (8, 128, 32)}
    params = {name: np.float32(RNG.standard_normal(s) / 6) for name, s in shapes.items()}
    x = np.float32(RNG.standard_normal((8, 64, 32)))

    def loss(params, x):
        out = shoal.moe.moe_layer(x, params["wg"], params["wi"], params["wo"], k=2, capacity=16)
        return shoal.mean(shoal.square(out.y)) + 0.01 * out.aux

    def step(params, x):
        return shoal.value_and_grad(loss, (0, 1))(params, x)

    mesh = shoal.Mesh(d=8)
    placed = {"wg": P(), "wi": P("d"), "wo": P("d")}, P("d")
    shardings = {"in_shardings": placed, "out_shardings": (None, placed)}
    text = shoal.trace(step, (params, x), mesh, **shardings)
    sent = bytes_and_collectives(costs_of(tmp_path, text))
    assert sent == (59_143, {"all_to_all": 4, "all_reduce": 1})
    one = evaluate(tmp_path, step, params, x)
    many = evaluate(tmp_path, step, params, x, mesh=mesh, devices=8, **shardings)
    for actual, expected in zip(jax.tree.leaves(many), jax.tree.leaves(one), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
