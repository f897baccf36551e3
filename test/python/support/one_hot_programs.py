# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs in JAX whose einsums have one-hot operands: MoE layers, embeddings, labels, caches."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AbstractMesh, NamedSharding
from jax.sharding import PartitionSpec as P

from one_hot_routers import Masks, Router


@dataclass(frozen=True)
class Sizes:
    """Of a layer: groups, tokens of a group, experts, slots of an expert, model, hidden."""

    G: int = 2
    S: int = 96
    E: int = 16
    C: int = 10
    M: int = 24
    H: int = 12

    def shape(self, letters):
        return tuple(getattr(self, letter) for letter in letters)


@dataclass(frozen=True)
class Layout:
    """Over which axes of a mesh the values of a layer are split.

    x [G, S, M], masks [G, S, E, C], rows [E, G, C, M], outputs [G, E, C, M]; others are free.
    """

    mesh: AbstractMesh | None = None
    x: P | None = None
    masks: P | None = None
    rows: P | None = None
    outputs: P | None = None

    def constrain(self, name, value):
        spec = getattr(self, name)
        if spec is None:
            return value
        return jax.lax.with_sharding_constraint(value, NamedSharding(self.mesh, spec))


EVERYWHERE = Layout()


def experts(rows, wi, wo):
    """What each expert makes of its rows [E, G, C, M]."""
    hidden = jax.nn.relu(jnp.einsum("EGCM,EMH->EGCH", rows, wi))
    return jnp.einsum("EGCH,EHM->GECM", hidden, wo)


def sent(masks: Masks, x):
    """Rows [E, G, C, M] at their experts: GShard's einsum."""
    return jnp.einsum("GSEC,GSM->EGCM", masks.dispatch.astype(x.dtype), x)


def layer(router: Router, capacity: int, x, wg, wi, wo, layout: Layout = EVERYWHERE):
    """y [G, S, M], and the rows that were sent."""
    x = layout.constrain("x", x)
    masks = router(jnp.einsum("GSM,ME->GSE", x, wg).astype(jnp.float32), capacity)
    masks = Masks(*(layout.constrain("masks", mask) for mask in masks))
    rows = layout.constrain("rows", sent(masks, x))
    outputs = layout.constrain("outputs", experts(rows, wi, wo))
    y = jnp.einsum("GSEC,GECM->GSM", masks.combine.astype(x.dtype), outputs)
    return layout.constrain("x", y), rows


def layer_merged(router: Router, capacity: int, x, wg, wi, wo):
    """The same with masks reshaped to [G, S, E C], as matrix products want them."""
    masks = router(jnp.einsum("GSM,ME->GSE", x, wg).astype(jnp.float32), capacity)
    groups, tokens, model = x.shape
    flat = (groups, tokens, -1)
    rows = masks.dispatch.astype(x.dtype).reshape(flat).swapaxes(1, 2) @ x
    rows = rows.reshape(groups, len(wi), capacity, model).swapaxes(0, 1)
    outputs = experts(rows, wi, wo).reshape(groups, -1, model)
    return masks.combine.astype(x.dtype).reshape(flat) @ outputs, rows


def layer_ungrouped(router: Router, capacity: int, x, wg, wi, wo):
    """The same for tokens [S, M] without groups, as DeepSpeed has them."""
    logits = (x @ wg).astype(jnp.float32)
    masks = Masks(*(mask[0] for mask in router(logits[None], capacity)))
    rows = jnp.einsum("sec,sm->ecm", masks.dispatch.astype(x.dtype), x)
    hidden = jax.nn.relu(jnp.einsum("ecm,emh->ech", rows, wi))
    outputs = jnp.einsum("ech,ehm->ecm", hidden, wo)
    return jnp.einsum("sec,ecm->sm", masks.combine.astype(x.dtype), outputs), rows


def with_gradients(forward):
    """How far `forward`'s first result is from a target, squared; the gradients of the arguments."""

    def program(x, wg, wi, wo, target):
        def loss(*arguments):
            return jnp.square((forward(*arguments)[0] - target).astype(jnp.float32)).sum()

        return jax.value_and_grad(loss, argnums=(0, 1, 2, 3))(x, wg, wi, wo)

    return program


def layer_arrays(sizes=Sizes(), dtype=np.float32, seed=0, groups=True):
    """x, wg, wi, wo and a target for y. Logits are off zero and far enough apart to route."""
    random = np.random.default_rng(seed)

    def array(letters, scale=1.0):
        values = random.standard_normal(sizes.shape(letters), np.float32)
        return jnp.asarray(values * np.float32(scale), dtype)

    tokens = "GSM" if groups else "SM"
    return {
        "x": array(tokens),
        "wg": array("ME", sizes.M**-0.5),
        "wi": array("EMH", sizes.M**-0.5),
        "wo": array("EHM", sizes.H**-0.5),
        "target": array(tokens),
    }


#
# Beside layers
#


def routed_by_places(x, outputs, weights, experts, slots):
    """Tokens [S, M] sent to experts and slots [k, S], and outputs [E, C, M] brought back.

    Choices may meet, be out of range, or weigh nothing; what is sent is what weighs more.
    """
    hot = partial(jax.nn.one_hot, dtype=weights.dtype)
    hots = hot(experts, outputs.shape[0]), hot(slots, outputs.shape[1])
    combine = jnp.einsum("ks,kse,ksc->sec", weights, *hots)
    rows = jnp.einsum("sec,sm->ecm", (combine > 0).astype(x.dtype), x)
    return rows, jnp.einsum("sec,ecm->sm", combine, outputs)


def embedding(tokens, table):
    """Rows of a table by a product with one-hots."""
    return jax.nn.one_hot(tokens, len(table), dtype=table.dtype) @ table


def cross_entropy(logits, labels):
    """Of logits [S, V] with labels [S] as one-hots."""
    hot = jax.nn.one_hot(labels, logits.shape[-1], dtype=logits.dtype)
    return -(jax.nn.log_softmax(logits) * hot).sum(-1).mean()


def cache_by_choice(cache, new, at):
    """A cache [B, T, D] whose row `at` of each of the B is new [B, D]."""
    here = jnp.arange(cache.shape[1])[None, :, None] == at[:, None, None]
    return jnp.where(here, new[:, None], cache)


def cache_by_products(cache, new, at):
    """The same, of finite numbers."""
    hot = jax.nn.one_hot(at, cache.shape[1], dtype=cache.dtype)[..., None]
    return cache * (1 - hot) + new[:, None] * hot


#
# Masks in loops and choices
#


def routed_again(x, wg, outputs, steps=3):
    """Tokens [S, M] that go to the expert of outputs [E, M] that a mask from the step before says."""

    def mask_of(x):
        return jax.nn.one_hot((x @ wg).argmax(-1), len(outputs), dtype=x.dtype)

    def step(_, carried):
        x, mask = carried
        return jnp.tanh(x + mask @ outputs), mask_of(x)

    return jax.lax.fori_loop(0, steps, step, (x, mask_of(x)))[0]


def routed_the_same(x, wg, outputs, steps=3):
    """The mask is made once, and every step reads it."""
    mask = jax.nn.one_hot((x @ wg).argmax(-1), len(outputs), dtype=x.dtype)
    return jax.lax.fori_loop(0, steps, lambda _, x: jnp.tanh(x + mask @ outputs), x)


def routed_by_choice(x, wg, outputs):
    """The best expert, weighted, or the least one: the mask comes of a choice."""
    logits = x @ wg

    def best():
        hot = jax.nn.one_hot(logits.argmax(-1), len(outputs), dtype=x.dtype)
        return hot * logits.max(-1, keepdims=True)

    def least():
        return jax.nn.one_hot(logits.argmin(-1), len(outputs), dtype=x.dtype)

    return jax.lax.cond(x.sum() > 0, best, least) @ outputs
