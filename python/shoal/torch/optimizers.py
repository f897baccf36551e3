# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimisers of torch as those of `shoal.optim`: what an instance says of its groups is read, its code is not run.

The learning rates are read again at each step, so that torch's schedulers work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from shoal.errors import UnsupportedError
from shoal.frontend.elementwise import multiply
from shoal.optim import Transform, add_decayed_weights, chain, scale_by_adam, trace


class Optimizer(NamedTuple):
    """init: from the parameters by name to the state.

    update: from (gradients, state, parameters, rates) to (updates, new state), in a traced function.
    rates: the learning rate of each group now, float32[groups].
    names: the parameters that it moves.
    """

    init: Any
    update: Any
    rates: Any
    names: frozenset[str]


def of_torch(optimizer: torch.optim.Optimizer, parameters: Mapping[str, Any]) -> Optimizer:
    """parameters: the module's by their names.

    UnsupportedError of optimisers other than SGD, Adam and AdamW, and of what of these is not done here.
    """
    kind = type(optimizer)
    if kind not in _DIRECTIONS:
        known = ", ".join(known.__name__ for known in _DIRECTIONS)
        raise UnsupportedError(f"optimizer: {kind.__module__}.{kind.__name__} is not supported; expected one of {known}, or of shoal.optim")
    if optimizer.state:
        raise UnsupportedError("optimizer: it has done steps, whose moments are not read; give one that is new")
    names = {id(parameter): name for name, parameter in parameters.items()}
    groups = [_names(group, number, names) for number, group in enumerate(optimizer.param_groups)]
    directions = [_DIRECTIONS[kind](group, f"optimizer: group {i}") for i, group in enumerate(optimizer.param_groups)]

    def init(params: Mapping[str, Any]) -> Any:
        return tuple(one.init({name: params[name] for name in group}) for one, group in zip(directions, groups))

    def update(grads: Mapping[str, Any], state: Any, params: Mapping[str, Any], rates: Any) -> tuple[Any, Any]:
        updates, states = {}, []
        for number, (direction, group) in enumerate(zip(directions, groups)):
            parts = ({name: tree[name] for name in group} for tree in (grads, params))
            moved, kept = direction.update(next(parts), state[number], next(parts))
            states.append(kept)
            updates |= {name: multiply(part, multiply(rates[number], -1.0)) for name, part in moved.items()}
        return updates, tuple(states)

    def rates() -> np.ndarray:
        return np.array([float(group["lr"]) for group in optimizer.param_groups], np.float32)

    return Optimizer(init, update, rates, frozenset(name for group in groups for name in group))


def of_shoal(optimizer: Transform, names: frozenset[str]) -> Optimizer:
    """The same of one of shoal.optim, which has its own rates."""

    def update(grads: Any, state: Any, params: Any, rates: Any) -> tuple[Any, Any]:
        return optimizer.update(grads, state, params)

    return Optimizer(optimizer.init, update, lambda: np.zeros(1, np.float32), names)


def _names(group: Mapping[str, Any], number: int, names: Mapping[int, str]) -> list[str]:
    found = [names.get(id(parameter)) for parameter in group["params"]]
    if None in found:
        raise UnsupportedError(f"optimizer: group {number}: parameter {found.index(None)} is none of the module's")
    return [name for name in found if name is not None]


def _check(group: Mapping[str, Any], what: str, **expected: Any) -> None:
    """What is another than what is done here."""
    for name, value in expected.items():
        if group.get(name, value) != value:
            raise UnsupportedError(f"{what}: {name}={group[name]!r} is not supported; expected {value!r}")


def _sgd(group: Mapping[str, Any], what: str) -> Transform:
    _check(group, what, dampening=0, maximize=False)
    parts = [add_decayed_weights(group["weight_decay"])] if group["weight_decay"] else []
    if group["momentum"]:
        parts.append(trace(group["momentum"], group["nesterov"]))
    return chain(*parts)


def _adam(group: Mapping[str, Any], what: str) -> Transform:
    _check(group, what, amsgrad=False, maximize=False, decoupled_weight_decay=False)
    decay = [add_decayed_weights(group["weight_decay"])] if group["weight_decay"] else []
    return chain(*decay, scale_by_adam(*map(float, group["betas"]), group["eps"]))


def _adamw(group: Mapping[str, Any], what: str) -> Transform:
    _check(group, what, amsgrad=False, maximize=False)
    decay = [add_decayed_weights(group["weight_decay"])] if group["weight_decay"] else []
    return chain(scale_by_adam(*map(float, group["betas"]), group["eps"]), *decay)


# In the direction of the gradient, before the learning rate.
_DIRECTIONS = {torch.optim.SGD: _sgd, torch.optim.Adam: _adam, torch.optim.AdamW: _adamw}
