# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A decoder of attention and experts, as a function of parameters and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from shoal.frontend.constants import as_value
from shoal.frontend.contraction import einsum
from shoal.frontend.core import ArrayLike
from shoal.frontend.creation import zeros
from shoal.frontend.indexing import take
from shoal.frontend.naming import named_scope
from shoal.frontend.random import fold_in
from shoal.frontend.structure import stack
from shoal.frontend.value import Value
from shoal.models.attention import norm
from shoal.models.config import ModelConfig
from shoal.models.layer import apply_layer, between
from shoal.models.order import Order, check_order_free, order_of, ordered
from shoal.models.stages import pass_stages, stages_of
from shoal.moe.gshard import cross_entropy
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

    logits: Value
    balance: Value
    metrics: MoeMetrics
    losses: dict[str, Value]


def decode(
    params: Params, tokens: ArrayLike, config: ModelConfig, layout: Layout = SINGLE, *,
    key: ArrayLike | None = None, mask: ArrayLike | None = None,
) -> Decoded:  # fmt: skip
    """Of tokens [B, S], integers; each sees itself and those before it.

    params: with "stages" where the layout has any, as `Model.to_stages` makes them.
    key: of the routers' noise, each layer from one of its own; without it there is none, as in evaluation.
    mask [B, S]: true for real tokens, which stand in front; the others are left out of routing.
    """
    whole = as_value(tokens)
    order = order_of(layout, whole.shape[1])
    made = _decode(params, whole, config, layout, order, key, mask)
    return made if order is None else made._replace(logits=take(made.logits, np.argsort(order), 1))


def _decode(
    params: Params, tokens: Value, config: ModelConfig, layout: Layout, order: Order,
    key: ArrayLike | None, mask: ArrayLike | None,
) -> Decoded:  # fmt: skip
    """`decode` of tokens [B, S] as they come; logits [B, S, V] are in the order of the layout."""
    key = used_key(config.moe, key)
    check_order_free(config.moe, order, tokens.shape[1], key is not None and bool(drawing_fields(config.moe)))
    valid = None if mask is None else ordered(as_value(mask), order)
    with named_scope("embed"):
        x = between(layout, as_value(params["embed"])[ordered(tokens, order)])
    balance, found, losses = zeros((), "float32"), [], []
    for number, layer in enumerate(params["layers"]):
        own = None if key is None else fold_in(key, number)
        with named_scope(f"layers.{number}"):
            made = apply_layer(x, layer, config, layout, config.windows[number], order, key=own, mask=valid)
            balance = balance + total_loss(made.losses, config.moe, number)
        x = made.x
        if made.metrics is not None:
            found.append(made.metrics)
            losses.append(made.losses)
    metrics = MoeMetrics(*map(stack, zip(*found))).marked() if found else None
    by_name = stacked_losses(losses)
    stages = stages_of(config, layout)
    if stages is not None:
        passed = pass_stages(x, params["stages"], stages, config, layout, order, key=key, mask=valid)
        x, balance, metrics, by_name = passed.x, balance + passed.balance, passed.metrics, passed.losses
    with named_scope("head"):
        head = params["head"] if "head" in params else params["embed"]
        x = layout.constrain(norm(x, params["norm"], config), _ROWS, "cp", None)
        logits = layout.constrain(einsum("BSM,VM->BSV", x, as_value(head)), _ROWS, "cp", "tp")
    if metrics is None:
        none = zeros((0, config.moe.num_experts), "float32")
        return Decoded(logits, balance, MoeMetrics(none, none, zeros((0,), "float32")), {})
    if config.balance_over_layers == "mean":
        balance = balance / metrics.needed.shape[0]
    return Decoded(logits, balance, metrics, by_name)


def loss_of(
    params: Params, tokens: ArrayLike, config: ModelConfig, layout: Layout = SINGLE, *,
    key: ArrayLike | None = None, training: bool = True,
) -> tuple[Value, dict[str, Value]]:  # fmt: skip
    """The mean of -log p of each next token plus the balance; and metrics, "nll", "balance" and, where there are
    layers with experts, `MoeMetrics`' and the layers' losses by their names.

    key: of the routers' noise, as of `shoal.random.key`, which `train.step` gives; TraceError where the configuration
    asks for one and there is none. training=False: without noise, as in evaluation.
    """
    key = key_of_training("loss", config.moe if any(config.moe_layers) else None, key, training)
    whole = as_value(tokens)
    order = order_of(layout, whole.shape[1] - 1)
    with named_scope("embed"):
        inputs = whole[:, :-1]
    made = _decode(params, inputs, config, layout, order, key, None)
    layers = made.metrics._asdict() if made.metrics.needed.shape[0] else {}
    with named_scope("loss"):
        nll = cross_entropy(made.logits.astype("float32"), ordered(whole[:, 1:], order))
        return nll + made.balance, {"nll": nll, "balance": made.balance, **layers, **made.losses}
