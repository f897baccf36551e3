# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which experts a token goes to, and with which weights.

In this order: jitter, logits, noise, scores, plus the experts' bias, groups of experts, the k
best, their scores without the bias, divided by their sum, times the scaling factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from shoal.arrays import (
    Array, ArrayLike, argmax, as_value, broadcast_to, concatenate, einsum, exp, iota, like, mean, minimum, one_hot,
    ones, rsqrt, sigmoid, softmax, sum, take_along_axis, top_k, where,
)  # fmt: skip
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.checks import check
from shoal.moe import noise
from shoal.moe.config import MoeConfig
from shoal.moe.parts import Cosine, ExpertChoice, Hash, OwnRouter, Router, Sinkhorn, given_to
from shoal.moe.scores import SCORES, allowed_experts, balanced_scores, of_valid, sinkhorn

__all__ = ["Routing", "route"]

_LARGEST_SCALE = 100.0  # of the cosine router, as exp of it is


class Routing(NamedTuple):
    """What a router says of tokens [G, S] of which each goes to k of E experts.

    experts [G, S, k] int32, the best first; weights [G, S, k] of their results, in the router's
    type; scores [G, S, E] of sum 1 and logits [G, S, E], for losses; valid [G, S], 0 for tokens
    that do not count, else 1.
    From `limit`: kept [G, S, k] bool, and place [G, S, k] int32, the row of the expert's buffer.
    Where experts choose, `tokens` [G, E, C] int32 are those of the slots, `experts` is [G, E, C],
    too, and so are weights.
    """

    experts: Array
    weights: Array
    scores: Array
    logits: Array
    valid: Array
    kept: Array | None = None
    place: Array | None = None
    tokens: Array | None = None

    def regrouped(self, groups: int) -> Routing:
        """The same tokens in another number of groups; places and room are those of the former."""

        def grouped(value: Array | None, behind: int) -> Array | None:
            if value is None:
                return None
            return value.reshape(groups, -1, *value.shape[value.ndim - behind :][:behind])

        by_token = {name: grouped(getattr(self, name), 1) for name in self._fields if name != "valid"}
        return Routing(**by_token, valid=self.valid.reshape(groups, -1))

    def counts(self) -> Array:
        """[G, E] float32: valid choices of each expert, before any is dropped."""
        experts = self.scores.shape[-1]
        chosen = one_hot(self.experts, experts)
        if self.tokens is not None:
            return sum(chosen * self.kept.astype("float32")[..., None], (1, 2))
        return sum(chosen * self.valid.reshape(*self.valid.shape, 1, 1), (1, 2))


def route(
    x: ArrayLike,
    params: Mapping[str, Any],
    config: MoeConfig,
    *,
    bias: ArrayLike | None = None,
    key: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    token_ids: ArrayLike | None = None,
    training: bool | None = None,
    k: int | None = None,
    function: Router | None = None,
) -> Routing:
    """The choices of tokens x [G, S, M].

    params: "router" [M, E], "router_bias" [E] with `add_router_bias`; of the cosine router
      "projection" [M, P], "router" [P, E] and "temperature" []; none where tokens are hashed.
    bias [E] float32: of `moe_router_enable_expert_bias`, for the choice alone (arXiv 2408.15664).
    key: of the noise; without it there is none, and TraceError where that is asked for and `training` is true.
    mask [G, S]: true for tokens that are no padding. Others are taken as zeros, whatever stands there, and have
      no gradient.
    token_ids [G, S]: integers, which the hash router needs.
    training: None is whether there is a key; false is without noise. Sinkhorn balances in training alone.
    k: in place of the configuration's, at most E.
    function: in place of the configuration's `router`.
    """
    tokens, config = as_value(x, like(x, params)), _as_asked(config, function, k)
    check(tokens.ndim == 3, f"route: expected tokens [G, S, M], got {list(tokens.shape)}")
    kind = {"fp32": "float32", "fp64": "float64"}.get(config.router.dtype, "float32")
    _check_tokens(tokens, config)
    tokens, valid = _real(tokens, mask, kind)
    if isinstance(config.router, Hash):
        return _hash(token_ids, valid, config)
    _check_bias(bias, config, tokens)
    is_training = key is not None if training is None else training
    key = _key_of(config, key, is_training)
    if config.own is not None:
        return _own(tokens, valid, params, config, bias, key, kind)
    logits = _logits(noise.jitter(tokens, config, key), params, config)
    logits = noise.forced(logits.astype(kind), config, key)
    if isinstance(config.router, Sinkhorn):
        return _sinkhorn(logits, valid, config, is_training)
    if isinstance(config.router, ExpertChoice):
        return _expert_choice(logits, valid, config)
    return _top_k(logits, valid, config, None if bias is None else as_value(bias, logits), key)


def _as_asked(config: MoeConfig, function: Router | None, k: int | None) -> MoeConfig:
    """The configuration with what is given in place of its own."""
    own = config.own if function is None else OwnRouter(function)
    router = config.router if k is None else replace(config.router, k=min(k, config.experts.number))
    return replace(config, router=router, own=own)


def _key_of(config: MoeConfig, key: ArrayLike | None, is_training: bool) -> ArrayLike | None:
    """The key of noise, which is of training."""
    if not is_training:
        return None
    asking = noise.drawing_fields(config) if key is None else []
    check(not asking, f"route: training=True with {', '.join(asking)} and no key")
    return key


def _check_bias(bias: ArrayLike | None, config: MoeConfig, tokens: Array) -> None:
    """Fewer bits than float32 has would put an expert before another one, and lose what a step adds."""
    asked = config.router.bias_rate is not None
    given = "no" if bias is None else "a"
    check((bias is not None) == asked, f"route: moe_router_enable_expert_bias={asked} and {given} bias")
    if bias is None:
        return
    value = as_value(bias, tokens)
    shape = value.shape
    check(shape == (config.experts.number,), f"route: bias {list(shape)} with num_experts={config.experts.number}")
    if not dtypes.is_float(value.dtype) or value.dtype.itemsize < 4:
        raise TraceTypeError(
            f"route: bias of {value.dtype}: expected float32, as it moves by {config.router.bias_rate}; "
            "optim.cast takes a mask of what is cast"
        )


def _real(tokens: Array, mask: ArrayLike | None, kind: str) -> tuple[Array, Array]:
    """The tokens, zeros where the mask is false, and valid [G, S] of this type."""
    if mask is None:
        return tokens, ones(tokens.shape[:2], kind, like=tokens)
    valid = as_value(mask, tokens).astype("bool").astype(kind)
    check(valid.shape == tokens.shape[:2], f"route: mask {list(valid.shape)} of tokens {list(tokens.shape)}")
    return of_valid(tokens, valid), valid


def _check_tokens(tokens: Array, config: MoeConfig) -> None:
    kind = tokens.dtype
    check(dtypes.is_float(kind), f"route: tokens of {kind}; expected floating-point numbers")
    check(
        kind != "float64" or config.router.dtype != "fp32",
        f'route: tokens of {kind} with moe_router_dtype="fp32"; "fp64" takes them',
    )


def _logits(tokens: Array, params: Mapping[str, Any], config: MoeConfig) -> Array:
    """[G, S, E]. Products of 16 bits are exact in float32, where they are summed."""
    weights = as_value(params["router"], tokens)
    if isinstance(config.router, Cosine):
        return _cosine(tokens, params)
    if config.router.dtype == "model":
        logits = einsum("GSM,ME->GSE", tokens, weights)
    elif config.router.dtype == "fp64":
        logits = einsum("GSM,ME->GSE", tokens.astype("float64"), weights.astype("float64"))
    else:
        logits = einsum("GSM,ME->GSE", tokens, weights, dtype="float32")
    return logits + as_value(params["router_bias"], logits).astype(logits.dtype) if config.router.bias else logits


def _cosine(tokens: Array, params: Mapping[str, Any]) -> Array:
    """Tutel's `gates/cosine_top.py`: cosines of projected tokens and experts, by a learnt scale."""
    projected = einsum("GSM,MP->GSP", tokens, as_value(params["projection"], tokens), dtype="float32")
    experts = as_value(params["router"], tokens).astype("float32")
    scale = minimum(exp(as_value(params["temperature"], tokens).astype("float32")), _LARGEST_SCALE)
    rows = projected * rsqrt(sum(projected * projected, -1, keepdims=True) + 1e-12)
    columns = experts * rsqrt(sum(experts * experts, 0, keepdims=True) + 1e-12)
    return einsum("GSP,PE->GSE", rows, columns) * scale


def _top_k(
    logits: Array, valid: Array, config: MoeConfig, bias: Array | None, key: ArrayLike | None
) -> Routing:
    noisy, router = noise.gaussian(logits, config, key), config.router
    scores = noisy if router.is_late else SCORES[router.function](noisy)
    choice = scores if bias is None else scores + bias.astype(scores.dtype)
    if router.groups is not None:
        allowed = allowed_experts(choice, router.groups.number, router.groups.chosen, router.groups.best(router.k))
        choice = where(allowed, choice, float("-inf"))
    experts = _choose(choice, noisy, config, key)
    weights = take_along_axis(scores, experts, -1)
    if router.is_late:
        weights = softmax(weights)
    elif router.normalizes:
        weights = weights / (sum(weights, -1, keepdims=True) + 1e-20)
    if router.scaling is not None:
        weights = weights * router.scaling
    balance = balanced_scores(noisy, router.function)
    return Routing(experts, weights, balance, logits, valid)


def _choose(choice: Array, logits: Array, config: MoeConfig, key: ArrayLike | None) -> Array:
    """The experts, [G, S, k]."""
    if key is not None and config.router.sampling == "first":
        return argmax(noise.gumbel(logits, key), -1).reshape(*logits.shape[:2], 1)
    if key is not None and config.router.sampling == "second":
        first = argmax(choice, -1)
        others = where(one_hot(first, logits.shape[-1]) > 0, float("-inf"), noise.gumbel(logits, key))
        pair = (first, argmax(others, -1))
        return concatenate([part.reshape(*part.shape, 1) for part in pair], -1)
    return top_k(choice, config.router.k)[1]


def _own(
    tokens: Array, valid: Array, params: Mapping[str, Any], config: MoeConfig, bias: ArrayLike | None,
    key: ArrayLike | None, kind: str,
) -> Routing:  # fmt: skip
    """What `config.own` says of the tokens."""
    assert config.own is not None
    function = config.own.function
    made = function(tokens, params, config, **given_to(function, bias=bias, key=key))
    if isinstance(made, Routing):
        return made
    check(isinstance(made, tuple) and len(made) in (2, 3), f"route: router: expected experts and weights, got {made!r}")
    experts, weights, *rest = (as_value(value, tokens) for value in made)
    shape = (*tokens.shape[:2], config.router.k)
    for what, value in (("experts", experts), ("weights", weights)):
        check(value.shape == shape, f"route: router: {what} {list(value.shape)}; expected [G, S, k] {list(shape)}")
    if dtypes.is_float(experts.dtype):
        raise TraceTypeError(f"route: router: experts of {experts.dtype}; expected integers")
    experts, weights = experts.astype("int32"), weights.astype(kind)
    if rest:
        logits = rest[0].astype(kind)
        whole = (*tokens.shape[:2], config.experts.number)
        check(logits.shape == whole, f"route: router: logits {list(logits.shape)}; expected [G, S, E] {list(whole)}")
        return Routing(experts, weights, softmax(logits), logits, valid)
    asking = [name for name in (*config.router.losses, "z_loss") if config.has_loss(name)]
    check(not asking, f"route: router: without logits there is no {', '.join(asking)}: return experts, weights, logits")
    scores = mean(one_hot(experts, config.experts.number, kind), 2)
    return Routing(experts, weights, scores, scores, valid)


def _sinkhorn(logits: Array, valid: Array, config: MoeConfig, is_training: bool) -> Routing:
    """Megatron-Core: chosen by the balanced matrix, weighed by the plain activation."""
    plain = sigmoid(logits) if config.router.k == 1 else softmax(logits)
    choice = sinkhorn(logits, valid) if is_training else plain
    experts = top_k(choice, config.router.k)[1]
    return Routing(experts, take_along_axis(plain, experts, -1), softmax(logits), logits, valid)


def _expert_choice(logits: Array, valid: Array, config: MoeConfig) -> Routing:
    """Each expert takes its C best tokens (arXiv 2202.09368); what is padding comes last."""
    scores = softmax(logits)
    groups, tokens, experts = scores.shape
    capacity = config.rows(tokens)
    liking = where(valid.reshape(groups, 1, tokens) > 0, scores.swapaxes(1, 2), -1.0)
    weights, chosen = top_k(liking, capacity or tokens)
    of_slots, kept = iota(chosen.shape, 1, like=chosen), weights >= 0
    return Routing(of_slots, weights, scores, logits, valid, kept, iota(chosen.shape, 2, like=chosen), chosen)


def _hash(token_ids: ArrayLike | None, valid: Array, config: MoeConfig) -> Routing:
    """Experts by the token's number alone (arXiv 2106.04426); choices are E // k apart."""
    if token_ids is None:
        raise TraceError('route: router_type="hash" needs token_ids [G, S]')
    ids = as_value(token_ids, valid).astype("int32")
    check(ids.shape == valid.shape, f"route: token_ids {list(ids.shape)} for tokens {list(valid.shape)}")
    k, count = config.router.k, config.experts.number
    shape = (*ids.shape, k)
    steps = iota(shape, 2, like=ids) * (count // k)
    experts = (broadcast_to(ids.reshape(*ids.shape, 1), shape) + steps) % count
    weights = ones(shape, valid.dtype, like=valid) / k
    scores = mean(one_hot(experts, count, valid.dtype), 2)
    return Routing(experts, weights, scores, scores, valid)
