# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimisers of torch as those of `shoal.optim`: what an instance says of its groups is read, its code is not run.

The learning rates are read again at each step, so that torch's schedulers work.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from shoal.errors import UnsupportedError
from shoal.optim import Transform, add_decayed_weights, chain, trace
from shoal.torch.directions import Direction, adafactor, adam, against, muon


class Optimizer(NamedTuple):
    """init: from the parameters by name to the state.

    update: from (gradients, state, parameters, rates) to (updates, new state), in a traced function.
    rates: the learning rate of each group now, float32[groups].
    rate: as of `shoal.optim.Transform`, for the metrics.
    names: the parameters that it moves.
    """

    init: Any
    update: Any
    rates: Any
    names: frozenset[str]
    rate: Any = None


def of_torch(optimizers: Sequence[torch.optim.Optimizer], parameters: Mapping[str, Any], others: Iterable[Any] = ()) -> Optimizer:
    """optimizers: each for parameters of its own, as Muon for matrices and AdamW for the others. parameters: the module's that have
    gradients, by their names. others: the module's that have none, which stay as they are, as in torch.

    UnsupportedError of optimisers other than SGD, Adam, AdamW, Adafactor and Muon, and of what of these is not done here.
    """
    names: dict[int, str | None] = {id(parameter): None for parameter in others}
    names |= {id(parameter): name for name, parameter in parameters.items()}
    listed = [(type(each), group) for each in map(_new, optimizers) for group in each.param_groups]
    groups = [_names(group, number, names) for number, (_, group) in enumerate(listed)]
    directions = [_DIRECTIONS[kind](group, f"optimizer: group {i}") for i, (kind, group) in enumerate(listed)]
    twice = sorted(name for name, times in collections.Counter(name for group in groups for name in group).items() if times > 1)
    if twice:
        raise UnsupportedError(f'optimizer: "{twice[0]}" is in two groups')

    def init(params: Mapping[str, Any]) -> Any:
        return tuple(one.init({name: params[name] for name in group}) for one, group in zip(directions, groups))

    def update(grads: Mapping[str, Any], state: Any, params: Mapping[str, Any], rates: Any) -> tuple[Any, Any]:
        updates, states = {}, []
        for number, (direction, group) in enumerate(zip(directions, groups)):
            parts = ({name: tree[name] for name in group} for tree in (grads, params))
            moved, kept = direction.update(next(parts), state[number], next(parts), rates[number])
            states.append(kept)
            updates |= moved
        return updates, tuple(states)

    def rates() -> np.ndarray:
        return np.array([float(group["lr"]) for each in optimizers for group in each.param_groups], np.float32)

    return Optimizer(init, update, rates, frozenset(name for group in groups for name in group))


def _new(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """The optimiser, of a kind that is known, which has not done steps."""
    kind = type(optimizer)
    if kind not in _DIRECTIONS:
        known = ", ".join(known.__name__ for known in _DIRECTIONS)
        raise UnsupportedError(f"optimizer: {kind.__module__}.{kind.__name__} is not supported; expected one of {known}, or of shoal.optim")
    if optimizer.state:
        raise UnsupportedError("optimizer: it has done steps, whose moments are not read; give one that is new")
    return optimizer


def of_shoal(optimizer: Transform, names: frozenset[str]) -> Optimizer:
    """The same of one of shoal.optim, which has its own rates."""

    def update(grads: Any, state: Any, params: Any, rates: Any) -> tuple[Any, Any]:
        return optimizer.update(grads, state, params)

    return Optimizer(optimizer.init, update, lambda: np.zeros(1, np.float32), names, optimizer.rate)


def _names(group: Mapping[str, Any], number: int, names: Mapping[int, str | None]) -> list[str]:
    """Those of the group's parameters that move."""
    for place, parameter in enumerate(group["params"]):
        if id(parameter) not in names:
            raise UnsupportedError(f"optimizer: group {number}: parameter {place} is none of the module's")
    found = (names[id(parameter)] for parameter in group["params"])
    return [name for name in found if name is not None]


def _check(group: Mapping[str, Any], what: str, **expected: Any) -> None:
    """What is another than what is done here."""
    for name, value in expected.items():
        if group.get(name, value) != value:
            raise UnsupportedError(f"{what}: {name}={group[name]!r} is not supported; expected {value!r}")


def _sgd(group: Mapping[str, Any], what: str) -> Direction:
    _check(group, what, dampening=0, maximize=False)
    parts = [add_decayed_weights(group["weight_decay"])] if group["weight_decay"] else []
    if group["momentum"]:
        parts.append(trace(group["momentum"], group["nesterov"]))
    return against(chain(*parts))


def _adam(group: Mapping[str, Any], what: str) -> Direction:
    _check(group, what, amsgrad=False, maximize=False, decoupled_weight_decay=False)
    decay = [add_decayed_weights(group["weight_decay"])] if group["weight_decay"] else []
    return against(chain(*decay, _moments(group)))


def _adamw(group: Mapping[str, Any], what: str) -> Direction:
    _check(group, what, amsgrad=False, maximize=False)
    decay = [add_decayed_weights(group["weight_decay"])] if group["weight_decay"] else []
    return against(chain(_moments(group), *decay))


def _moments(group: Mapping[str, Any]) -> Transform:
    return adam([float(beta) for beta in group["betas"]], float(group["eps"]))


def _adafactor(group: Mapping[str, Any], what: str) -> Direction:
    _check(group, what, maximize=False)
    return adafactor(group)


def _muon(group: Mapping[str, Any], what: str) -> Direction:
    return muon(group)


# Some releases of torch lack the last.
_DIRECTIONS = {torch.optim.SGD: _sgd, torch.optim.Adam: _adam, torch.optim.AdamW: _adamw}
_DIRECTIONS |= {getattr(torch.optim, name): own for name, own in {"Adafactor": _adafactor, "Muon": _muon}.items() if hasattr(torch.optim, name)}
