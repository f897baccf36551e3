# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses that balance experts: scalars of the whole batch, whatever it lies on.

A loss is an ordinary sum: add `total_loss` to the task's, and its gradient is that of a mean over
the global batch for every mesh and number of devices. Choices count before any are dropped;
tokens that a mask leaves out count nowhere. A loss of coefficient 0 is not made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.arrays import (
    Array, ArrayLike, as_value, erf, like, logsumexp, maximum, mean, one_hot, sign, square, stack, stop_gradient,
    sum, top_k, zeros,
)  # fmt: skip
from shoal.frontend.checks import check
from shoal.moe.config import MoeConfig
from shoal.moe.routing import Routing
from shoal.moe.scores import balanced_scores, of_valid

__all__ = ["balance_losses", "stacked_losses", "total_loss", "update_expert_bias"]


def balance_losses(
    routing: Routing, config: MoeConfig, sequences: int | None = None, *, masked: bool = True
) -> dict[str, Array]:
    """The losses that the configuration names, and "z_loss", of those that have a coefficient in a layer.

    sequences: of how many sequences of equal length the tokens are, for "seq_aux_loss". masked: false where all tokens are
    valid, which then need not be counted.
    What stands at tokens that are not valid, NaN neither, reaches no loss and no gradient.
    """
    if masked:
        routing = routing._replace(
            scores=of_valid(routing.scores, routing.valid), logits=of_valid(routing.logits, routing.valid)
        )
    made = {}
    for name in config.router.losses:
        if not config.has_loss(name):
            continue
        if name == "seq_aux_loss":
            made[name] = _LOSSES["aux_loss"](routing.regrouped(sequences or routing.scores.shape[0]), config, masked)
        elif name == "global_aux_loss":
            made[name] = _LOSSES["aux_loss"](routing.regrouped(1), config, masked)
        else:
            made[name] = _LOSSES[name](routing, config, masked)
    if config.has_loss("z_loss"):
        made["z_loss"] = _z_loss(routing, masked)
    return made


def total_loss(losses: Mapping[str, Array], config: MoeConfig, layer: int = 0) -> Array:
    """The losses of a layer, each times its coefficient: to be added to the task's loss.

    float32, or float64 if a router's are. A loss whose coefficient in this layer is 0 is no term of it.
    """
    kind = "float64" if any(loss.dtype == "float64" for loss in losses.values()) else "float32"
    total = zeros((), kind, like=like(losses))
    for name, loss in losses.items():
        coefficient = config.loss_coefficient(name, layer)
        if coefficient:
            total = total + loss.astype(kind) * coefficient
    return total


def stacked_losses(layers: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
    """{name: [L]} of the losses of layers, which have the same ones."""
    return {name: stack([losses[name] for losses in layers]) for name in (layers[0] if layers else ())}


def update_expert_bias(bias: ArrayLike, counts: ArrayLike, config: MoeConfig) -> Array:
    """The bias [..., E] after a step (arXiv 2408.15664; DeepSeek-V3, arXiv 2412.19437, section 2.1.2); counts [..., E] are
    those of its whole global batch. An expert with less than the mean gets the router's `bias_rate` more, one with more less.
    """
    check(config.router.bias_rate is not None, "update_expert_bias: the router has no bias_rate")
    loads = as_value(counts, bias).astype("float32")
    return as_value(bias, loads) + sign(mean(loads, -1, keepdims=True) - loads) * config.router.bias_rate


def _aux_loss(routing: Routing, config: MoeConfig, masked: bool) -> Array:
    """Mean over groups of E sum_e f_e P_e (Switch, arXiv 2101.03961; Megatron-Core).

    f_e: which part of the k S choices of the best scores are of the expert, without its bias and
    the limits of groups; P_e: its mean score. 1 where all experts have the same.
    """
    best = top_k(routing.scores, config.router.k)[1]
    chosen = sum(one_hot(best, config.experts.number, routing.scores.dtype), 2)
    return _balance(routing, chosen / config.router.k, masked) * config.experts.number


def _gshard(routing: Routing, config: MoeConfig, masked: bool) -> Array:
    """Mean over groups of (1/E) sum_e (c_e / S) m_e, c of first choices (arXiv 2006.16668).

    DeepSpeed's of two choices and Tutel's are E^2 times it.
    """
    first = one_hot(routing.experts[:, :, 0], config.experts.number, routing.scores.dtype)
    return _balance(routing, first, masked) / config.experts.number


def _balance(routing: Routing, chosen: Array, masked: bool) -> Array:
    """Mean, over groups that have valid tokens, of sum_e mean(chosen_e) mean(scores_e) of these.

    chosen [G, S, E] is of sum 1 and has no gradient.
    """
    if not masked:
        return sum(stop_gradient(mean(chosen, 1)) * mean(routing.scores, 1)) / chosen.shape[0]
    count = sum(routing.valid, 1)
    tokens = maximum(count, 1.0)[:, None]
    fractions = stop_gradient(sum(of_valid(chosen, routing.valid), 1) / tokens)
    means = sum(routing.scores, 1) / tokens
    groups = maximum(sum((count > 0).astype("float32")), 1.0)
    return sum(fractions * means) / groups.astype(means.dtype)


def _importance(routing: Routing, config: MoeConfig, masked: bool) -> Array:
    """Half of CV^2 of the experts' sums of scores, and of their load (Tutel; arXiv 1701.06538).

    The load is how probably the noise lifts a score to the k best. Tutel compares scores with
    logits there; here both are scores (docs/guide/MoE.md).
    """
    clean = balanced_scores(routing.logits, config.router.function)
    threshold = top_k(routing.scores, config.router.k)[0][..., -1:]
    deviation = config.router.gate_noise / config.experts.number
    lifted = 0.5 * (1 + erf((clean - threshold) / (deviation * float(np.sqrt(2.0)))))
    vectors = [sum(of_valid(each, routing.valid), (0, 1)) for each in (clean, lifted)]
    return 0.5 * (_variation(vectors[0]) + _variation(vectors[1]))


def _variation(vector: Array) -> Array:
    """The square of the coefficient of variation."""
    average = mean(vector)
    variance = sum(square(vector - average)) / (vector.shape[0] - 1)
    return variance / (square(average) + 1e-10)


def _z_loss(routing: Routing, masked: bool) -> Array:
    """Mean of logsumexp(logits)^2 (ST-MoE, arXiv 2202.08906)."""
    if not masked:
        return mean(square(logsumexp(routing.logits)))
    squares = of_valid(square(logsumexp(routing.logits)), routing.valid)
    return sum(squares) / maximum(sum(routing.valid), 1.0)


_LOSSES = {"aux_loss": _aux_loss, "gshard": _gshard, "importance": _importance}
