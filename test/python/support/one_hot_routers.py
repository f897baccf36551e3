# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Routers of Mixture-of-Experts layers, each making its masks as one of the open libraries does.

Stated anew from the published algorithms. A router takes logits [G, S, E] and the capacity C, and
gives `Masks`. What differs is the spelling: which numbers are compared with which counters, and
what is multiplied, put, permuted, cut or cast until a mask is there.

Letters: G groups, S tokens of a group, E experts, C slots of an expert, k choices.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

one_hot = partial(jax.nn.one_hot, dtype=jnp.float32)
hot_numbers = partial(jax.nn.one_hot, dtype=jnp.int32)


class Masks(NamedTuple):
    """combine, dispatch [G, S, E, C]: weights, and 1 where a token has a slot of an expert."""

    combine: jax.Array
    dispatch: jax.Array


Router = Callable[[jax.Array, int], Masks]


def _places(mask, taken=0):
    """Per token how many tokens before it chose the expert; `taken` slots are full before."""
    return jnp.cumsum(mask, -2) - mask + taken


def gshard(logits, capacity):
    """Algorithm 1 of GShard (arXiv 2006.16668): products of one-hots; what is above 0 is sent."""
    gates = jax.nn.softmax(logits)
    experts = gates.shape[-1]
    first = one_hot(gates.argmax(-1), experts)
    second = one_hot((gates * (1 - first)).argmax(-1), experts)
    weights = [(gates * mask).sum(-1) for mask in (first, second)]
    total = weights[0] + weights[1]
    combine, taken = 0.0, 0.0
    for mask, weight in zip((first, second), weights):
        place = _places(mask, taken)
        taken = taken + mask.sum(-2, keepdims=True)
        kept = mask * (place < capacity)
        slot = one_hot((place * kept).sum(-1).astype(jnp.int32), capacity)
        weighted = (weight / total)[..., None] * kept
        combine = combine + weighted[..., None] * slot[..., None, :]
    return Masks(combine, (combine > 0).astype(jnp.float32))


def top_k_gating(logits, capacity, k=2):
    """What `shoal.top_k_gating` decomposes to, with a sum of einsums of one-hots."""
    gates = jax.nn.softmax(logits)
    weights, chosen = jax.lax.top_k(gates, k)
    weights = weights / weights.sum(-1, keepdims=True)
    taken = jnp.zeros_like(gates[..., :1, :], jnp.int32)
    combine = dispatch = 0.0
    for j in range(k):
        mask = hot_numbers(chosen[..., j], gates.shape[-1])
        place = (_places(mask, taken) * mask).sum(-1)
        taken = taken + mask.sum(-2, keepdims=True)
        kept = (mask * (place < capacity)[..., None]).astype(jnp.float32)
        slot = one_hot(place, capacity)
        dispatch += jnp.einsum("...SE,...SC->...SEC", kept, slot)
        combine += jnp.einsum("...SE,...SC->...SEC", kept * weights[..., j, None], slot)
    return Masks(combine, dispatch)


def praxis(logits, capacity):
    """Masks of i32, places and weights by einsums, one-hots made a second time, bool."""
    gates = jax.nn.softmax(logits)
    experts = gates.shape[-1]
    chosen, masks = [], []
    rest = gates
    for _ in range(2):
        chosen.append(rest.argmax(-1))
        masks.append(hot_numbers(chosen[-1], experts))
        rest = rest * (1 - masks[-1]).astype(gates.dtype)
    weights, places, kept = [], [], []
    taken = 0
    for mask in masks:
        place = _places(mask, taken) * mask
        taken = taken + mask.sum(-2, keepdims=True)
        fitting = mask * (place < capacity).astype(jnp.int32)
        weights.append(jnp.einsum("...SE,...SE->...S", gates, fitting.astype(gates.dtype)))
        places.append(jnp.einsum("...SE,...SE->...S", place, fitting))
        kept.append(fitting.sum(-1).astype(gates.dtype))
    total = jnp.maximum(weights[0] + weights[1], 1e-9)
    combine = 0.0
    for j in range(2):
        factors = (weights[j] / total * kept[j], one_hot(chosen[j], experts))
        combine += jnp.einsum("...S,...SE,...SC->...SEC", *factors, one_hot(places[j], capacity))
    return Masks(combine, combine.astype(bool).astype(jnp.float32))


def mesh_tensorflow(logits, capacity, threshold=0.3):
    """Five factors; a second choice counts where its weight is above a threshold."""
    gates = jax.nn.softmax(logits)
    experts = gates.shape[-1]
    present = (jnp.abs(logits).sum(-1) > 0).astype(gates.dtype)
    first = gates.argmax(-1)
    hot_first = one_hot(first, experts) * present[..., None]
    second = (gates * (1 - hot_first)).argmax(-1)
    weight_first = (gates * hot_first).sum(-1)
    hot_second = one_hot(second, experts) * present[..., None]
    weight_second = (gates * hot_second).sum(-1)
    total = weight_first + weight_second + 1e-9
    weight_first, weight_second = weight_first / total, weight_second / total
    hot_second = hot_second * (weight_second > threshold)[..., None]
    combine, taken = 0.0, 0.0
    choices = ((first, hot_first, weight_first), (second, hot_second, weight_second))
    for chosen, mask, weight in choices:
        place = _places(mask, taken) * mask
        mask = mask * (place < capacity)
        taken = taken + mask.sum(-2, keepdims=True)
        flat = mask.sum(-1)
        slot = one_hot(place.sum(-1).astype(jnp.int32), capacity)
        scalars = (weight * flat * present)[..., None, None]
        combine += scalars * one_hot(chosen, experts)[..., None] * slot[..., None, :]
    return Masks(combine, (combine != 0).astype(jnp.float32))


def switch(logits, capacity):
    """Top 1 of Switch Transformers (arXiv 2101.03961): places count from 1."""
    gates = jax.nn.softmax(logits)
    weight, chosen = gates.max(-1), gates.argmax(-1)
    mask = one_hot(chosen, gates.shape[-1])
    place = jnp.cumsum(mask, -2) * mask
    mask = mask * (place <= capacity)
    kept = mask.sum(-1)
    hot = one_hot(chosen, gates.shape[-1])
    slot = one_hot(((place * mask).sum(-1) - kept).astype(jnp.int32), capacity)
    combine = (weight * kept)[..., None, None] * hot[..., None] * slot[..., None, :]
    return Masks(combine, (combine > 0).astype(jnp.float32))


def _tokens_choose(gates, capacity, k, prioritized):
    """One group; gates [S, E]. Places of choices, -1 where none, and their maximum."""
    experts = gates.shape[-1]
    weights, chosen = jax.lax.top_k(gates, k)
    if prioritized:  # places first for whom is surest
        order = jnp.argsort(-weights[:, 0])
        chosen = jnp.take_along_axis(chosen, order[:, None], 0)
    mask = hot_numbers(chosen.T.reshape(-1), experts)
    place = (jnp.cumsum(mask, 0) * mask - 1).reshape(k, -1, experts).max(0)
    if prioritized:
        place = jnp.take_along_axis(place, jnp.argsort(order)[:, None], 0)
    dispatch = one_hot(place, capacity)
    return Masks(jnp.einsum("SE,SEC->SEC", gates, dispatch), dispatch)


def flaxformer(logits, capacity, prioritized=False):
    """Tokens choose: background -1, the maximum over choices, a one-hot of places [S, E]."""
    choose = partial(_tokens_choose, capacity=capacity, k=2, prioritized=prioritized)
    return jax.vmap(choose)(jax.nn.softmax(logits))


def experts_choose(logits, capacity):
    """Expert choice (arXiv 2202.09368): each expert takes the C tokens that like it best."""
    gates = jax.nn.softmax(logits)
    weights, chosen = jax.lax.top_k(gates.swapaxes(-1, -2), capacity)
    mask = one_hot(chosen, gates.shape[-2])  # [G, E, C, S]
    combine = jnp.einsum("...EC,...ECS->...SEC", weights, mask)
    return Masks(combine, jnp.moveaxis(mask, -1, -3))


def maxtext(logits, capacity):
    """Weights put by a scatter; places count from 1, and slot 0 is cut off."""
    groups, tokens, experts = logits.shape
    values, chosen = jax.lax.top_k(logits, 2)
    weights = jax.nn.softmax(values)
    put = (jnp.arange(groups)[:, None, None], jnp.arange(tokens)[:, None], chosen)
    gates = jnp.zeros_like(logits).at[put].set(weights)
    mask = hot_numbers(chosen, experts)
    fused = mask.reshape(groups, tokens * 2, experts)
    place = jnp.cumsum(fused, 1)
    fused = fused * (place <= capacity)
    place = (place * fused).reshape(mask.shape).sum(2)
    gates = gates * fused.reshape(mask.shape).sum(2)
    slot = hot_numbers(place, capacity + 1)
    combine = (gates[..., None] * slot)[..., 1:]
    return Masks(combine, combine.astype(bool).astype(jnp.float32))


def deepspeed_top1(logits, capacity):
    """Tokens that are kept are the C best of each expert, put by a scatter over tokens."""
    gates = jax.nn.softmax(logits)
    experts = gates.shape[-1]
    mask = hot_numbers(gates.argmax(-1), experts)

    def keep(mask, gates):
        best = jax.lax.top_k((mask * gates).T, capacity)[1]  # [E, C]
        columns = jnp.arange(experts)[:, None]
        return mask * jnp.zeros_like(mask).at[best, columns].set(1)

    mask = jax.vmap(keep)(mask, gates)
    place = ((jnp.cumsum(mask, -2) - 1) * mask).sum(-1)
    combine = jnp.einsum("...SE,...SC->...SEC", gates * mask, one_hot(place, capacity))
    return Masks(combine, combine.astype(bool).astype(jnp.float32))


def deepspeed_top2(logits, capacity):
    """-inf where the first choice is; weights are divided by a sum that is clamped."""
    gates = jax.nn.softmax(logits)
    experts = gates.shape[-1]
    first = hot_numbers(gates.argmax(-1), experts)
    second = hot_numbers(jnp.where(first.astype(bool), -jnp.inf, logits).argmax(-1), experts)
    place_first = jnp.cumsum(first, -2) - 1
    place_second = jnp.cumsum(second, -2) - 1 + first.sum(-2, keepdims=True)
    first = first * (place_first < capacity)
    second = second * (place_second < capacity)
    choices = ((first, place_first), (second, place_second))
    weights = [jnp.einsum("...SE,...SE->...S", gates, m.astype(gates.dtype)) for m, _ in choices]
    total = jnp.maximum(weights[0] + weights[1], jnp.finfo(gates.dtype).eps)
    combine = 0.0
    for (mask, place), weight in zip(choices, weights):
        slot = one_hot((place * mask).sum(-1), capacity)
        weighted = jnp.einsum("...S,...SE->...SE", weight / total, mask.astype(gates.dtype))
        combine += jnp.einsum("...SE,...SC->...SEC", weighted, slot)
    return Masks(combine, combine.astype(bool).astype(jnp.float32))


def deepspeed_topk(logits, capacity):
    """The mask put by a scatter; a one-hot of all places [S, E]; 0 / x."""
    gates = jax.nn.softmax(logits)
    chosen = jax.lax.top_k(gates, 2)[1]
    mask = jax.vmap(jax.vmap(lambda row, at: row.at[at].set(1)))(
        jnp.zeros_like(gates, jnp.int32), chosen
    )
    place = jnp.cumsum(mask, -2) - 1
    mask = mask * (place < capacity)
    weights = gates * mask
    total = jnp.maximum(weights.sum(-1, keepdims=True), jnp.finfo(gates.dtype).eps)
    slot = one_hot(place * mask, capacity)
    combine = jnp.einsum("...SE,...SEC->...SEC", weights / total, slot)
    return Masks(combine, combine.astype(bool).astype(jnp.float32))


def eye_rows(logits, capacity, k=2):
    """Rows of identity matrices, one einsum of three operands over the choices."""
    gates = jax.nn.softmax(logits)
    groups, tokens, experts = gates.shape
    weights, chosen = jax.lax.top_k(gates, k)
    mask = jnp.eye(experts)[chosen]  # [G, S, k, E]
    in_turn = mask.swapaxes(1, 2).reshape(groups, k * tokens, experts)
    place = (_places(in_turn) * in_turn).sum(-1).reshape(groups, k, tokens).swapaxes(1, 2)
    slot = jnp.eye(capacity)[jnp.minimum(place, capacity - 1).astype(jnp.int32)]
    weights = weights * (place < capacity)
    combine = jnp.einsum("...SKE,...SKC,...SK->...SEC", mask, slot, weights)
    return Masks(combine, (combine != 0).astype(jnp.float32))


def flax_one_einsum(logits, capacity, k=2):
    """Places [G, S, k, E] counted over choices, -1 where none; one einsum of three factors."""
    gates = jax.nn.softmax(logits)
    groups, tokens, experts = gates.shape
    weights, chosen = jax.lax.top_k(gates, k)
    mask = one_hot(chosen, experts)
    counted = jnp.cumsum(mask.reshape(groups, tokens * k, experts), 1)
    place = counted.reshape(mask.shape) * mask - 1
    slot = one_hot(place.astype(jnp.int32), capacity)
    combine = jnp.einsum("GSK,GSKE,GSKEC->GSEC", weights, mask, slot)
    return Masks(combine, (combine > 0).astype(jnp.float32))


def flax_vmapped(logits, capacity, k=2):
    """A group at a time: choices in front, a slot of -1 where there is no room, a sum over choices."""

    def route(gates):
        weights, chosen = jax.lax.top_k(gates, k)
        tokens, experts = gates.shape
        mask = one_hot(chosen.T.reshape(-1), experts)
        place = jnp.sum((jnp.cumsum(mask, 0) - 1) * mask, -1)
        slot = one_hot(jnp.where(place < capacity, place, -1).astype(jnp.int32), capacity)
        dispatch = (mask[:, :, None] * slot[:, None, :]).reshape(k, tokens, experts, capacity)
        return jnp.sum(weights.T[..., None, None] * dispatch, 0), jnp.sum(dispatch, 0)

    return Masks(*jax.vmap(route)(jax.nn.softmax(logits)))


def haiku_merged_places(logits, capacity, k=2):
    """One number for expert and slot, compared with a counter of E C, and a product over choices."""
    gates = jax.nn.softmax(logits)
    groups, tokens, experts = gates.shape
    weights, chosen = jax.lax.top_k(gates, k)
    mask = hot_numbers(chosen, experts).reshape(groups, tokens * k, experts)
    place = jnp.sum((jnp.cumsum(mask, 1) - mask) * mask, -1).reshape(groups, tokens, k)
    merged = jnp.where(place < capacity, chosen * capacity + place, experts * capacity)
    hot = jnp.equal(jnp.arange(experts * capacity), merged[..., None]).astype(gates.dtype)
    combine = (weights[:, :, None, :] @ hot).reshape(groups, tokens, experts, capacity)
    return Masks(combine, hot.max(2).reshape(combine.shape))


def t5x_tokens_choose(logits, capacity, k=2):
    """Masks of booleans [G, S, E, C], the largest of the choices', times the gates of experts."""
    gates = jax.nn.softmax(logits)
    groups, tokens, experts = gates.shape
    chosen = jax.lax.top_k(gates, k)[1].swapaxes(1, 2).reshape(groups, -1)
    mask = hot_numbers(chosen, experts)
    place = jnp.cumsum(mask, 1) * mask - 1
    place = jnp.max(place.reshape(groups, k, tokens, experts), 1)
    dispatch = jax.nn.one_hot(place, capacity, dtype=jnp.bool_)
    combine = jnp.einsum("...SE,...SEC->...SEC", gates, dispatch.astype(gates.dtype))
    return Masks(combine, dispatch.astype(jnp.float32))


def praxis_stacked(logits, capacity, k=2):
    """Choices of an argmax each, stacked in front; masks of i32 and one einsum over the stack."""
    gates = jax.nn.softmax(logits)
    rest, masks = gates, []
    for _ in range(k):
        masks.append(hot_numbers(rest.argmax(-1), gates.shape[-1]))
        rest = rest * (1 - masks[-1])
    mask = jnp.stack(masks)
    before = jnp.cumsum(mask.sum(2, keepdims=True), 0) - mask.sum(2, keepdims=True)
    place = (jnp.cumsum(mask, 2) - mask + before) * mask
    mask = mask * jnp.less(place, capacity)
    weights = jnp.einsum("GSE,KGSE->KGS", gates, mask.astype(gates.dtype))
    weights = weights / jnp.maximum(weights.sum(0), 1e-9)
    slot = one_hot(jnp.einsum("KGSE,KGSE->KGS", place, mask), capacity)
    hots = mask.astype(gates.dtype), slot
    combine = jnp.einsum("KGS,KGSE,KGSC->GSEC", weights, *hots)
    return Masks(combine, combine.astype(bool).astype(jnp.float32))


def fairseq_top2(logits, capacity):
    """Masks put by a scatter, tokens without groups, weights normed before tokens are dropped."""

    def route(gates):
        tokens, experts = gates.shape
        first = gates.argmax(-1)
        second = jnp.where(one_hot(first, experts) > 0, -jnp.inf, gates).argmax(-1)
        at = jnp.arange(tokens)
        masks = [jnp.zeros((tokens, experts), jnp.int32).at[at, c].set(1) for c in (first, second)]
        weights = [(gates * mask).sum(-1) for mask in masks]
        total = jnp.clip(weights[0] + weights[1], min=jnp.finfo(gates.dtype).eps)
        combine, taken = 0.0, 0
        for mask, weight in zip(masks, weights):
            places = jnp.cumsum(mask, 0) - 1 + taken
            taken = taken + mask.sum(0, keepdims=True)
            kept = mask * jnp.less(places, capacity)
            slot = one_hot((places * kept).sum(1), capacity)
            weighted = (weight / total)[:, None] * kept
            combine += weighted[:, :, None] @ slot[:, None, :]
        return combine

    combine = jax.vmap(route)(jax.nn.softmax(logits))
    return Masks(combine, combine.astype(bool).astype(jnp.float32))


def deepspeed_products(logits, capacity, k=2):
    """Its own einsums: outer products by matmul; choices in front, permuted to be counted."""
    gates = jax.nn.softmax(logits)
    groups, tokens, experts = gates.shape
    weights, chosen = jax.lax.top_k(gates, k)
    weights = weights / jnp.maximum(weights.sum(-1, keepdims=True), jnp.finfo(gates.dtype).eps)
    mask = hot_numbers(chosen, experts).transpose(2, 0, 1, 3)  # [k, G, S, E]
    counted = mask.transpose(1, 0, 2, 3).reshape(groups, k * tokens, experts)
    place = (jnp.cumsum(counted, 1) - 1).reshape(groups, k, tokens, experts).swapaxes(0, 1)
    mask = mask * (place < capacity)
    slot = one_hot((place * mask).sum(-1), capacity)
    weighted = weights.transpose(2, 0, 1)[..., None] * mask
    combine = (weighted[..., None] @ slot[..., None, :]).sum(0)
    return Masks(combine, combine.astype(bool).astype(jnp.float32))


ROUTERS: dict[str, Router] = {
    "gshard": gshard,
    "top_k_gating": top_k_gating,
    "top_8_gating": partial(top_k_gating, k=8),
    "praxis": praxis,
    "mesh_tensorflow": mesh_tensorflow,
    "switch": switch,
    "flaxformer": flaxformer,
    "flaxformer_prioritized": partial(flaxformer, prioritized=True),
    "experts_choose": experts_choose,
    "maxtext": maxtext,
    "deepspeed_top1": deepspeed_top1,
    "deepspeed_top2": deepspeed_top2,
    "deepspeed_topk": deepspeed_topk,
    "eye_rows": eye_rows,
    "flax_one_einsum": flax_one_einsum,
    "flax_vmapped": flax_vmapped,
    "haiku_merged_places": haiku_merged_places,
    "t5x_tokens_choose": t5x_tokens_choose,
    "praxis_stacked": praxis_stacked,
    "fairseq_top2": fairseq_top2,
    "deepspeed_products": deepspeed_products,
}
