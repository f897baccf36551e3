# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parameters of a layer: their shapes, their beginnings, and where they lie."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shoal.arrays import as_value, shape_of
from shoal.frontend import pytrees
from shoal.frontend.checks import check
from shoal.moe.config import MoeConfig
from shoal.moe.layout import Layout
from shoal.moe.parts import Cosine, Hash, Residual, Shared

__all__ = [
    "OF_EXPERTS", "as_used", "buffer_mask", "check_params", "decay_mask", "init_params", "param_shapes", "param_shardings",
    "start_of",
]  # fmt: skip

Tree = Any

_PROJECTION = 256  # of the cosine router
# What the elements of a parameter of this name begin with, which is one of norms where its name ends so.
_STARTS = {name: 0.0 for name in ("bi", "bg", "bo", "bq", "bk", "bv", "router_bias", "sinks", "expert_bias")}
_STARTS["temperature"] = math.log(2.0)
# What a step moves by the loads of experts, and no optimiser by a gradient.
_BUFFERS = ("expert_bias",)


def start_of(name: str) -> float | None:
    """The number that all elements of a parameter of this name begin with; None: they are drawn."""
    return 1.0 if name.endswith("norm") else _STARTS.get(name)


def buffer_mask(params: Tree) -> Tree:
    """Which leaves of a tree of `shoal.models` or `shoal.moe` are state of the training and no parameters: a tree of
    bools."""
    return _by_name(params, lambda name: name in _BUFFERS)


def decay_mask(params: Tree) -> Tree:
    """Which leaves of a tree of `shoal.models` or `shoal.moe` decay, a tree of bools: the `mask` of `optim.adamw`.

    True for matrices and embeddings, whose elements begin as drawn numbers; false for what begins as one
    number: norms, biases of any rank, those of heads and of experts among them, sinks, temperatures. So it is the
    same for a model in stages, whose norms have three dimensions, as for one that is not.
    """
    return _by_name(params, lambda name: start_of(name) is None)


def _by_name(params: Tree, function: Callable[[str], bool]) -> Tree:
    """By what each leaf is called in the innermost dict around it."""
    names = [[key for key in path if isinstance(key, str)] for path in pytrees.paths(params)]
    return pytrees.unflatten(pytrees.flatten(params)[1], [function(keys[-1] if keys else "") for keys in names])


def param_shapes(config: MoeConfig, model: int) -> dict[str, Any]:
    """{name: shape} of a layer of model size M, a tree as `moe` takes it."""
    experts, hidden = config.experts.number, config.experts.hidden
    shapes: dict[str, Any] = _feed_forward((experts,), model, hidden, config)
    if config.own is not None and config.own.shapes is not None:
        shapes |= _own_shapes(config, model, shapes)
    elif isinstance(config.router, Cosine):
        width = min(_PROJECTION, model)
        shapes |= {"projection": (model, width), "router": (width, experts), "temperature": ()}
    elif not isinstance(config.router, Hash):
        shapes["router"] = (model, experts)
    if config.router.bias:
        shapes["router_bias"] = (experts,)
    if isinstance(config.beside, Shared):
        shapes["shared"] = _feed_forward((), model, config.beside.hidden, config)
        if config.beside.gated:
            shapes["shared_gate"] = (model, 1)
    if isinstance(config.beside, Residual):
        shapes["residual"] = _feed_forward((), model, hidden, config)
        shapes["residual_gate"] = (model, 2)
    return shapes


def _own_shapes(config: MoeConfig, model: int, others: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Of a router of the user's own."""
    assert config.own is not None and config.own.shapes is not None
    made = {name: tuple(shape) for name, shape in config.own.shapes(config, model).items()}
    taken = sorted({*made} & {*others, "shared", "shared_gate", "residual", "residual_gate", "expert_bias"})
    check(not taken, f"MoeConfig: router_shapes: {taken} are names of other parameters of the layer")
    return made


def _feed_forward(outer: tuple[int, ...], model: int, hidden: int, config: MoeConfig) -> dict[str, Any]:
    shapes: dict[str, Any] = {"wi": (*outer, model, hidden), "wo": (*outer, hidden, model)}
    if config.experts.gated:
        shapes["wg"] = (*outer, model, hidden)
    if config.experts.bias:
        shapes |= {"bi": (*outer, hidden), "bo": (*outer, model)}
        if config.experts.gated:
            shapes["bg"] = (*outer, hidden)
    return shapes


# Of an expert, which a function of the user's own may have others for.
OF_EXPERTS = ("wi", "wg", "wo", "bi", "bg", "bo")


def check_params(params: Mapping[str, Any], config: MoeConfig, model: int, own_expert: bool = False) -> None:
    """TraceError where a parameter is missing, or of other sizes than the configuration's.

    Further ones are let be. own_expert: those of experts are a user's; the sizes of a cosine router are free.
    """

    def look(place: str, found: Any, shape: Any) -> None:
        if isinstance(shape, dict):
            for name in shape:
                check(isinstance(found, Mapping) and name in found, f'moe: parameter "{place}{name}" is missing')
                look(f"{place}{name}.", found[name], shape[name])
            return
        actual = shape_of(found)
        is_free = isinstance(config.router, Cosine) and place in ("router.", "projection.")
        check(
            actual == shape or is_free,
            f'moe: parameter "{place[:-1]}" {list(actual)}: expected {list(shape)} of this configuration',
        )

    shapes = param_shapes(config, model)
    look("", params, {name: shapes[name] for name in shapes if not (own_expert and name in OF_EXPERTS)})


def init_params(config: MoeConfig, model: int, seed: int = 0, scale: float | None = None) -> dict[str, Any]:
    """Normal numbers of NumPy, float32, of deviation `scale` or the root of 1 / fan-in; biases are 0.

    The same for every layout.
    """
    rng = np.random.default_rng(seed)

    def made(name: str, shape: Any) -> Any:
        if isinstance(shape, dict):
            return {key: made(key, part) for key, part in shape.items()}
        start = start_of(name)
        if start is not None:
            return np.full(shape, start, np.float32)
        deviation = (*shape[-2:], 1)[0] ** -0.5 if scale is None else scale
        return (rng.standard_normal(shape) * deviation).astype(np.float32)

    return {name: made(name, shape) for name, shape in sorted(param_shapes(config, model).items())}


# The dimensions of an expert's parameters, by role.
_USED: dict[str, Any] = {
    "wi": ("ep", None, "etp"), "wg": ("ep", None, "etp"), "wo": ("ep", "etp", None),
    "bi": ("ep", "etp"), "bg": ("ep", "etp"), "bo": ("ep", None),
}  # fmt: skip
_ALSO_STORED = {"ep": ("ep", "zero_ep"), "etp": ("etp", "zero"), None: None}
_EXPERT = {name: tuple(_ALSO_STORED[role] for role in roles) for name, roles in _USED.items()}
_DENSE = {
    "wi": (None, "tp"), "wg": (None, "tp"), "wo": ("tp", None), "bi": ("tp",), "bg": ("tp",),
}  # fmt: skip


def as_used(params: Mapping[str, Any], layout: Layout, like: Any = None) -> dict[str, Any]:
    """The parameters, those of experts where they are used: gathered along what only stores them; NumPy's in the
    world of `like`."""
    return {
        name: layout.constrain(as_value(value, like), *_USED[name]) if name in _USED else value
        for name, value in params.items()
    }


def param_shardings(config: MoeConfig, layout: Layout) -> dict[str, Any]:
    """Where a layout stores a layer's parameters: a tree of P like `param_shapes`."""

    def placed(name: str, shape: Any, table: dict[str, Any]) -> Any:
        if isinstance(shape, dict):
            return {key: placed(key, part, _DENSE) for key, part in shape.items()}
        return layout.P(*table.get(name, (None,) * len(shape)))

    return {name: placed(name, shape, _EXPERT) for name, shape in param_shapes(config, 1).items()}
