# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder of attention and experts, as a function of parameters and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import (
    Array, ArrayLike, as_value, einsum, fold_in, like, named_scope, or_one, stack, summed, take, zeros,
)  # fmt: skip
from shoal.models.attention import norm
from shoal.models.batch import batch_of
from shoal.models.checking import as_tokens, check_params
from shoal.models.config import ModelConfig
from shoal.models.documents import Documents, check_rope, documents_of
from shoal.models.layer import apply_layer, between
from shoal.models.order import Order, check_order_free, order_of, ordered
from shoal.models.stages import pass_stages, stages_of
from shoal.layers.labels import IGNORE_INDEX, cross_entropy_sum
from shoal.moe.layer import MoeMetrics
from shoal.moe.layout import SINGLE, Layout
from shoal.moe.losses import stacked_losses, total_loss
from shoal.moe.noise import drawing_fields, key_of_training, used_key

__all__ = ["Decoded", "decode", "loss_of"]

# Behind all layers, where each device of "pp" has a part of the sequences (`pass_stages`).
_ROWS = ("dp", "pp")

Params = Mapping[str, Any]


class Decoded(NamedTuple):
    """logits [B, S, V]; balance [], the layers' losses times their coefficients, the mean over layers with experts or
    the sum, as `ModelConfig.balance_over_layers` says; metrics of these layers, a row each: counts and kept [L, E],
    needed [L]; their losses by name, [L]."""

    logits: Array
    balance: Array
    metrics: MoeMetrics
    losses: dict[str, Array]


def decode(
    params: Params, tokens: ArrayLike, config: ModelConfig, layout: Layout = SINGLE, *,
    key: ArrayLike | None = None, mask: ArrayLike | None = None, segments: ArrayLike | None = None,
    positions: ArrayLike | None = None,
) -> Decoded:  # fmt: skip
    """Of tokens [B, S], integers; each sees itself and those before it.

    params: with "stages" where the layout has any, as `Model.to_stages` makes them.
    key: of the routers' noise, each layer from one of its own; without it there is none, as in evaluation.
    mask [B, S]: true for real tokens; the others, wherever they stand, are left out of routing, and none of the real
    ones looks at them.
    segments [B, S]: integers, which of several documents a token is of, each of which stands together: attention is
    cut between them, and their positions begin anew. positions [B, S]: in place of those, or of 0 ... S - 1.
    TraceError where a longrope's frequencies would depend on the documents' lengths.
    """
    check_params(params, "decode", config, layout)
    whole = as_tokens(tokens, "decode", "[B, S]", like(params))
    documents = documents_of(whole, mask, segments, positions)
    order = order_of(layout, whole.shape[1])
    made = _decode(params, whole, config, layout, order, key, documents)
    return made if order is None else made._replace(logits=take(made.logits, np.argsort(order), 1))


def _decode(
    params: Params, tokens: Array, config: ModelConfig, layout: Layout, order: Order,
    key: ArrayLike | None, documents: Documents,
) -> Decoded:  # fmt: skip
    """`decode` of tokens [B, S] as they come; logits [B, S, V] are in the order of the layout."""
    key = used_key(config.moe, key)
    check_order_free(config.moe, order, tokens.shape[1], key is not None and bool(drawing_fields(config.moe)))
    check_rope(config.rope, tokens.shape[1], documents)
    documents = documents.ordered(order)
    with named_scope("embed"):
        x = between(layout, as_value(params["embed"], tokens)[ordered(tokens, order)])
    balance, found, losses = zeros((), "float32", like=x), [], []
    for number, layer in enumerate(params["layers"]):
        own = None if key is None else fold_in(key, number, like=x)
        with named_scope(f"layers.{number}"):
            made = apply_layer(x, layer, config, layout, config.windows[number], order, key=own, documents=documents)
            balance = balance + total_loss(made.losses, config.moe, number)
        x = made.x
        if made.metrics is not None:
            found.append(made.metrics)
            losses.append(made.losses)
    metrics = MoeMetrics(*map(stack, zip(*found))).marked() if found else None
    by_name = stacked_losses(losses)
    stages = stages_of(config, layout)
    if stages is not None:
        passed = pass_stages(x, params["stages"], stages, config, layout, order, key=key, documents=documents)
        x, balance, metrics, by_name = passed.x, balance + passed.balance, passed.metrics, passed.losses
    with named_scope("head"):
        head = params["head"] if "head" in params else params["embed"]
        x = layout.constrain(norm(x, params["norm"], config), _ROWS, "cp", None)
        logits = layout.constrain(einsum("BSM,VM->BSV", x, as_value(head, x)), _ROWS, "cp", "tp")
    if metrics is None:
        none = zeros((0, config.moe.experts.number), "float32", like=x)
        return Decoded(logits, balance, MoeMetrics(none, none, zeros((0,), "float32", like=x)), {})
    if config.balance_over_layers == "mean":
        balance = balance / metrics.needed.shape[0]
    return Decoded(logits, balance, metrics, by_name)


def loss_of(
    params: Params, tokens: ArrayLike | Mapping[str, ArrayLike], config: ModelConfig, layout: Layout = SINGLE, *,
    key: ArrayLike | None = None, training: bool = True, mask: ArrayLike | None = None,
    labels: ArrayLike | None = None, weights: ArrayLike | None = None, segments: ArrayLike | None = None,
    positions: ArrayLike | None = None, ignore_index: int | None = IGNORE_INDEX,
) -> tuple[Array, dict[str, Array]]:  # fmt: skip
    """The weighted mean of -log p of each next token plus the balance; and metrics: "nll", "balance", "weight" and,
    where there are layers with experts, `MoeMetrics`' and the layers' losses by their names.

    tokens: [B, S + 1], or a mapping with them as "tokens" and any of the following, as batches of `shoal.train` are.
    Of the token at the same place, [B, S + 1] each:
      mask: true for real tokens, the others are padding; segments, positions: as `decode` has them.
      labels: what is to be predicted there from those before it, `tokens` where there are none, as of transformers:
        ignore_index says that nothing is. weights: how much that counts, 1 where there are none.
    A token counts as a label where the one before it is real and of its document; as an input, in routing, where the
    one behind it is. So padded and packed documents have the loss that they have one by one.
    key: of the routers' noise, as of `shoal.random.key`, which `train.step` gives; TraceError where the configuration
    asks for one and there is none. training=False: without noise, as in evaluation.

    "weight" is the sum of the labels' weights, or their number: where a batch is cut, the means of its parts count
    that much.
    TraceError where shapes differ or a name is none of these; of labels see `shoal.layers.cross_entropy`.
    """
    key = key_of_training("loss", config.moe if any(config.moe_layers) else None, key, training)
    given = {"mask": mask, "labels": labels, "weights": weights, "segments": segments, "positions": positions}
    check_params(params, "loss", config, layout)
    batch = batch_of(tokens, given, like(params))
    order = order_of(layout, batch.inputs.shape[1])
    made = _decode(params, batch.inputs, config, layout, order, key, batch.documents)
    layers = made.metrics._asdict() if made.metrics.needed.shape[0] else {}
    with named_scope("loss"):
        target, counts, much = (None if x is None else ordered(x, order) for x in batch[2:])
        total, weight = cross_entropy_sum(made.logits, target, mask=counts, weights=much, ignore_index=ignore_index)
        nll = total / or_one(weight)
        return nll + made.balance, {"nll": nll, "balance": made.balance, "weight": summed(weight), **layers, **made.losses}
