# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of examples/moe_training in plain JAX, its training step with optax, and both at
some size: what the tests compare and test/benchmarks/train_vs_jax.py times."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax

from example_modules import load_example

import shoal
from shoal import optim, train

_model = load_example("examples/moe_training/model.py")
SENTENCES, Config, loss_of = _model.SENTENCES, _model.Config, _model.loss_of
initial_parameters, parameter_shardings = _model.initial_parameters, _model.parameter_shardings
text_rows = load_example("examples/sentences.py").text_rows

__all__ = [
    "EVERYWHERE", "SENTENCES", "Config", "batches_of", "initial_parameters", "jax_step",
    "loss_of", "parameter_shardings", "shoal_step",
]  # fmt: skip

# Of the first dimension: sentences, or between dispatch and combine experts.
EVERYWHERE = jax.sharding.PartitionSpec(("data", "expert"))


def rms_norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def attention(x, weights):
    q, k, v = (jnp.einsum("bsm,mnd->bsnd", x, weights[name]) for name in ("wq", "wk", "wv"))
    scores = jnp.einsum("bsnd,btnd->bnst", q, k) * q.shape[-1] ** -0.5
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    scores = jax.nn.softmax(jnp.where(causal, scores, jnp.finfo(scores.dtype).min), -1)
    return jnp.einsum("bnst,btnd,ndm->bsm", scores, v, weights["out"])


def top_2_gating(gates, capacity):
    """GShard's Algorithm 1: combine [B, S, E, C], aux."""
    experts = gates.shape[-1]
    first = jax.nn.one_hot(jnp.argmax(gates, -1), experts, dtype=gates.dtype)
    second = jax.nn.one_hot(jnp.argmax(gates * (1 - first), -1), experts, dtype=gates.dtype)
    weights = [(gates * mask).sum(-1) for mask in (first, second)]
    aux = (first.mean(1) * gates.mean(1)).mean(-1).mean()
    places = [jnp.cumsum(first, 1) - first]
    places.append(jnp.cumsum(second, 1) - second + first.sum(1, keepdims=True))

    def routed(mask, place, weight):
        kept = mask * (place < capacity)
        slot = jax.nn.one_hot((place * mask).sum(-1).astype(int), capacity, dtype=gates.dtype)
        return (weight / sum(weights))[..., None, None] * kept[..., None] * slot[:, :, None, :]

    return sum(map(routed, (first, second), places, weights)), aux


def experts(x, weights, capacity, constrain):
    gates = jax.nn.softmax(jnp.einsum("bsm,me->bse", x, weights["router"]), -1)
    combine, aux = top_2_gating(gates, capacity)
    sent = constrain(jnp.einsum("bsec,bsm->ebcm", (combine > 0).astype(x.dtype), x), EVERYWHERE)
    hidden = jax.nn.relu(jnp.einsum("ebcm,emh->ebch", sent, weights["wi"]))
    made = constrain(jnp.einsum("ebch,ehm->becm", hidden, weights["wo"]), EVERYWHERE)
    return jnp.einsum("bsec,becm->bsm", combine, made), aux


def jax_loss(config, constrain, parameters, tokens):
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = constrain(parameters["embed"][inputs] + parameters["position"], EVERYWHERE)

    def layer(x, weights):
        x = x + attention(rms_norm(x, weights["attention_norm"]), weights)
        y, aux = experts(rms_norm(x, weights["expert_norm"]), weights, config.capacity, constrain)
        return x + y, aux

    x, aux = jax.lax.scan(layer, x, parameters["layers"])
    logits = jnp.einsum("bsm,vm->bsv", rms_norm(x, parameters["norm"]), parameters["embed"])
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1)
    return -chosen.mean() + 0.01 * aux.sum()


RATE, CLIP, WARMUP = 3e-3, 1.0, 5


def jax_step(config, steps, constrain=lambda x, spec: x):
    """(init, step): step of (state, tokens) to (state, loss), not jitted."""
    schedule = optax.warmup_cosine_decay_schedule(0.0, RATE, WARMUP, steps)
    optimizer = optax.chain(optax.clip_by_global_norm(CLIP), optax.adamw(schedule))

    def step(state, tokens):
        parameters, kept = state
        loss, grads = jax.value_and_grad(partial(jax_loss, config, constrain))(parameters, tokens)
        updates, kept = optimizer.update(grads, kept, parameters)
        return (optax.apply_updates(parameters, updates), kept), loss

    return lambda parameters: (parameters, optimizer.init(parameters)), step


def shoal_step(config, steps, mesh, start, devices=None):
    """(state, step) of the example."""
    schedule = optim.warmup_cosine(RATE, WARMUP, steps)
    optimizer = optim.chain(optim.clip_by_global_norm(CLIP), optim.adamw(schedule))
    state = train.init(start, optimizer)
    places = train.shardings(state, parameter_shardings(start))
    step = shoal.jit(
        train.step(partial(loss_of, config), optimizer, has_aux=True),
        mesh=mesh,
        donate_argnums=0,
        in_shardings=(places, SENTENCES),
        out_shardings=(places, None),
        devices=devices,
    )
    return state, step


def batches_of(config, steps):
    """Rows of the sentences, in a fixed order."""
    rows = text_rows(config.length)
    order = np.random.default_rng(0).permutation(len(rows))
    return [rows[order[i * config.sentences :][: config.sentences]] for i in range(steps)]
