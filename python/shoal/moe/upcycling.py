# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A dense network's parameters as those of experts that compute the same at the beginning.

Sparse upcycling (arXiv 2212.05055); finer experts by virtual groups (arXiv 2410.07524, Megatron-Core).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.errors import TraceError
from shoal.frontend import dtypes
from shoal.moe.config import MoeConfig
from shoal.moe.parameters import param_shapes
from shoal.moe.parts import Cosine, ExpertChoice, Hash, Residual, Sinkhorn

__all__ = ["upcycle"]

# Which dimension of a dense parameter is the hidden one; None: each expert has all of it.
_HIDDEN = {"wi": 1, "wg": 1, "wo": 0, "bi": 0, "bg": 0, "bo": None}

# Scores of logits that are 0, of so many experts.
_EQUAL: dict[str, Callable[[int], float]] = {
    "softmax": lambda experts: 1 / experts,
    "sigmoid": lambda experts: 0.5,
    "sqrtsoftplus": lambda experts: math.log(2) ** 0.5,
}

_DEVIATION = 0.02  # of a router that may say what it wants
_SCALE = 2.0  # of cosines, as `init_params` begins
_LOGITS = 1e-6  # of a router whose scores must be equal: enough to choose by, and lost in float32's rounding


def upcycle(
    dense: Mapping[str, np.ndarray], config: MoeConfig, seed: int = 0, deviation: float | None = None
) -> dict[str, Any]:
    """The parameters of a layer that begins as the dense network {"wi": [M, H], "wo": [H, M], ...}.

    All that `param_shapes` has. The experts' hidden size divides H by the granularity g, and g divides their number
    and k: expert e has part e % g of the hidden units, and column e // g of a new router, drawn by `seed`. The g
    experts of a column score alike, so that whole networks are chosen: equal scores go to smaller numbers. (Of tokens
    that are hashed, whose choices are E // k apart, part e // (E // k) % g.)

    What the weights w of a token's choices leave out is in the matrices: "wo" is times g / (k w), or, where weights go
    into the experts (is_postscore=False), times g / k with "wi" and "wg" times 1 / w. Biases behind are of g parts. A
    shared expert begins with a last matrix of zeros, a residual one as the dense network.

    deviation: of the router's elements; of a cosine router, the scale of its logits. None is 0.02 (and 2) where any
      router keeps the function: weights of one sum, behind the experts. Else (softmax over all experts, sigmoid and
      sqrtsoftplus that are not normalised, sinkhorn, weights into the experts) the function is kept where all logits
      are equal, and None makes logits of 1e-6 for tokens whose elements are of mean square 1; with others y is off
      by about as much as the logits are.

    Raises TraceError where the sizes do not divide, parameters are not those of the experts, or with a configuration
    by which a token may be without some part of its network: experts choose, choices are dropped (by a capacity that
    can be too small, or by chance), or parts of one network are told apart, by noise or by groups of experts.
    """
    _check_dense(dense, config)
    g = _granularity(dense, config)
    weight, is_fixed = _weight(config)
    for is_lost, why in _losses(config, g, weight):
        if is_lost:
            raise TraceError(f"upcycle: {why}")
    model = dense["wi"].shape[0]
    rng = np.random.default_rng(seed)
    parts = _experts(dense, config, g, weight)
    router = _router(config, model, g, rng, deviation, is_fixed)
    return {**parts, **router, **_beside(dense, config, rng)}


def _weight(config: MoeConfig) -> tuple[float, bool]:
    """Of each choice where all logits are equal, and whether the function is kept by others, too."""
    k, experts = config.router.k, config.experts.number
    scale = getattr(config.router, "scaling", None) or 1.0
    if isinstance(config.router, (Hash, ExpertChoice)):
        return 1 / k, True
    if isinstance(config.router, Sinkhorn):
        return (0.5 if k == 1 else 1 / experts), False
    if config.capacity is not None and config.capacity.renormalize:
        weight, has_sum = 1 / k, True
    elif config.router.is_late or config.router.normalizes:
        weight, has_sum = scale / k, True
    else:
        weight, has_sum = scale * _EQUAL[config.router.function](experts), False
    is_chance = config.router.sampling == "later"  # which keeps a choice by its weight
    return weight, has_sum and not is_chance and (not config.dispatch.before or k == 1)


def _experts(dense: Mapping[str, np.ndarray], config: MoeConfig, g: int, weight: float) -> dict[str, np.ndarray]:
    k, experts = config.router.k, config.experts.number
    first, last = (1.0, g / (k * weight)) if not config.dispatch.before else (1 / weight, g / k)
    scales = {"wi": first, "wg": first, "wo": last, "bo": last / g}
    apart = experts // k if isinstance(config.router, Hash) else 1
    made = {}
    for name, array in dense.items():
        scaled, dim = _times(np.asarray(array), scales.get(name, 1.0)), _HIDDEN[name]
        pieces = [scaled] * g if dim is None else np.split(scaled, g, dim)
        made[name] = np.stack([pieces[e // apart % g] for e in range(experts)])
    return made


def _times(array: np.ndarray, scale: float) -> np.ndarray:
    """In the array's type, rounded once."""
    if scale == 1.0:
        return array
    wide = np.float64 if array.dtype == np.float64 else np.float32
    return (array.astype(wide) * wide(scale)).astype(array.dtype)


def _router(
    config: MoeConfig, model: int, g: int, rng: np.random.Generator, deviation: float | None, is_fixed: bool
) -> dict[str, np.ndarray]:
    """Columns of g experts are equal."""
    if isinstance(config.router, Hash):
        return {}

    def drawn(rows: int, columns: int, size: float) -> np.ndarray:
        return (rng.standard_normal((rows, columns)) * size).astype(np.float32)

    columns = config.experts.number // g
    if isinstance(config.router, Cosine):
        width = param_shapes(config, model)["projection"][1]
        router, projection = drawn(width, columns, width**-0.5), drawn(model, width, model**-0.5)
        scale = deviation if deviation is not None else _SCALE if is_fixed else _LOGITS
        temperature = np.float32(np.log(max(scale, 1e-30)))
        return {"router": np.repeat(router, g, axis=1), "projection": projection, "temperature": temperature}
    size = deviation if deviation is not None else _DEVIATION if is_fixed else _LOGITS * model**-0.5
    made = {"router": np.repeat(drawn(model, columns, size), g, axis=1)}
    return {**made, "router_bias": np.zeros(config.experts.number, np.float32)} if config.router.bias else made


def _beside(dense: Mapping[str, np.ndarray], config: MoeConfig, rng: np.random.Generator) -> dict[str, Any]:
    """A shared expert that says nothing yet; a residual one that is the dense network, which parts of sum 1 weigh."""
    model, kind = dense["wi"].shape[0], np.asarray(dense["wi"]).dtype

    def begun(name: str, shape: Any) -> Any:
        if isinstance(shape, dict):
            return {key: begun(key, part) for key, part in shape.items()}
        if name in ("wi", "wg"):
            return (rng.standard_normal(shape) * model**-0.5).astype(kind)
        return np.zeros(shape, kind)

    shapes = param_shapes(config, model)
    made = {name: begun(name, shapes[name]) for name in ("shared", "shared_gate", "residual_gate") if name in shapes}
    if isinstance(config.beside, Residual):
        made["residual"] = {name: np.array(array) for name, array in dense.items()}
    return made


def _check_dense(dense: Mapping[str, np.ndarray], config: MoeConfig) -> None:
    expected = sorted(name for name in param_shapes(config, 1) if name in _HIDDEN)
    if sorted(dense) != expected:
        raise TraceError(f"upcycle: parameters {sorted(dense)}: the experts of this configuration have {expected}")
    model, hidden = dense["wi"].shape
    shapes = param_shapes(replace(config, experts=replace(config.experts, hidden=hidden)), model)
    for name, array in dense.items():
        shape = list(shapes[name][1:])
        if list(array.shape) != shape:
            raise TraceError(f'upcycle: "{name}" {list(array.shape)}: expected {shape}, as "wi" is {[model, hidden]}')
        if not dtypes.is_float(array.dtype) or dtypes.is_float8(array.dtype):
            raise TraceError(f'upcycle: "{name}" of {array.dtype}: expected floats of 16 bits or more')


def _granularity(dense: Mapping[str, np.ndarray], config: MoeConfig) -> int:
    hidden, of_expert = dense["wi"].shape[1], config.experts.hidden
    g = hidden // of_expert
    if hidden % of_expert or config.experts.number % g or config.router.k % g:
        raise TraceError(
            f"upcycle: {hidden} hidden units over experts of {of_expert}: expected parts that divide "
            f"num_experts={config.experts.number} and moe_router_topk={config.router.k}"
        )
    return g


def _losses(config: MoeConfig, g: int, weight: float) -> Iterator[tuple[Any, str]]:
    """Whether a token may be without some part of its network, and why."""
    k, experts, groups = config.router.k, config.experts.number, config.router.groups
    yield isinstance(config.router, ExpertChoice), "ExpertChoice: a token has as many experts as choose it"
    yield (
        _drops(config),
        f"{config.capacity}: choices that find no room are missing in the sum; capacity=None makes the parameters, which are the "
        "same",
    )
    of_ranks = config.dispatch.rank_factor
    yield (
        of_ranks is not None and of_ranks < experts,
        f"rank_factor={of_ranks}: choices that find no room are missing in the sum",
    )
    yield (
        config.router.sampling == "later" and 2 * weight < 1,
        f'sampling="later": a second choice of weight {weight:.4g} is dropped by chance',
    )
    of_parts = f"parts of {g} experts each"
    noise = config.router.gate_noise > 0 or config.router.sampling == "second"
    name = f"gate_noise={config.router.gate_noise}" if config.router.gate_noise > 0 else 'sampling="second"'
    yield g > 1 and noise, f"{name}: the noise tells the {of_parts} apart"
    yield (
        g > 1 and groups is not None and experts // groups.number % g,
        f"{groups}: groups of {experts // groups.number if groups else 0} experts cut {of_parts}",
    )
    yield (
        g > 1 and isinstance(config.router, Hash) and experts % k,
        f'Hash: choices of {k} in {experts} experts are not {k} different {of_parts}',
    )
    yield (
        g > 1 and isinstance(config.beside, Residual),
        f"Residual: its network has {config.experts.hidden} hidden units, not the dense one's "
        f"{g * config.experts.hidden}",
    )


def _drops(config: MoeConfig) -> bool:
    """Whether a capacity can be smaller than a group of tokens, all of which may choose one expert."""
    if config.capacity is None:
        return False
    factor, size = config.capacity.factor, config.group_size
    if size is not None:
        rows = config.rows(size)
        return rows is not None and rows < size
    least = int(abs(factor)) if config.capacity.rule == "tutel" else factor  # rows are of whole multiples there
    return least * config.router.k < config.experts.number
