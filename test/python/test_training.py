# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of the frontend's own gradients and optimisers, beside JAX and optax."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

import shoal
from shoal import P

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
