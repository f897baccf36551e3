# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step as a program: loss, gradients, update."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import pytrees
from shoal.frontend.annotations import constrain
from shoal.frontend.constants import as_value
from shoal.frontend.random import fold_in
from shoal.frontend.random import key as random_key
from shoal.optim import LossScale, Transform, accumulate, apply_updates, cast, global_norm
from shoal.train.state import TrainState

__all__ = ["step"]

Tree = Any
# What a step's metrics have of their own.
_NAMES = ("loss", "grad_norm", "loss_scale", "skipped")


def step(
    loss: Callable[..., Any],
    optimizer: Transform,
    *,
    has_aux: bool = False,
    weighted: bool = False,
    micro_batches: int = 1,
    compute: Any = None,
    gradients: Any = None,
    seed: int | None = None,
) -> Callable[[TrainState, Tree], tuple[TrainState, dict[str, Any]]]:
    """A function from (state, batch) to (state, metrics), for `shoal.jit`.

    loss: of (params, batch): a scalar; with `has_aux` and `weighted` as in `optim.accumulate`,
      the aux a dict of metrics. A `dynamic_loss_scale` optimiser has it scaled.
    micro_batches: into how many a batch is cut; see `optim.accumulate`.
    compute: the type that floats of parameters and batch are cast to for the loss.
    gradients: where gradients lie between loss and update, a tree of P or a prefix of one, as
      of ZeRO-2; None: as is best.
    seed: a loss that takes `key` by its name is called with a key of the seed and the step's number, as of routers'
      noise, and in each micro-batch with another one: the same on any devices and in a run that goes on. None is 0;
      with a number the loss must take a key.

    Metrics are the scalars "loss" and "grad_norm", with a dynamic loss scale "loss_scale" and "skipped", and
    those of aux, of any shape.
    """

    draws = seed is not None or _takes_key(loss)

    def train_step(state: TrainState, batch: Tree) -> tuple[TrainState, dict[str, Any]]:
        scale = _scale_of(state.optimizer)
        scaled = _scaled(loss, scale, compute, has_aux, weighted)
        key = fold_in(random_key(seed or 0), state.step) if draws else None
        gradient = accumulate(scaled, micro_batches, has_aux=has_aux, weighted=weighted, key=key)
        result, grads = gradient(state.params, batch)
        value, aux = result if has_aux else (result, {})
        if gradients is not None:
            grads = _constrained(grads, gradients)
        updates, kept = optimizer.update(grads, state.optimizer, state.params)
        new = TrainState(as_value(state.step) + 1, apply_updates(state.params, updates), kept)
        return new, _metrics(value, global_norm(grads), scale, kept, aux)

    return train_step


def _takes_key(loss: Callable[..., Any]) -> bool:
    """Whether a loss has an argument `key` beside the parameters and the batch, which nobody has given yet."""
    if "key" in (getattr(loss, "keywords", None) or {}):  # of a functools.partial
        return False
    try:
        arguments = list(inspect.signature(loss).parameters.values())
    except (TypeError, ValueError):  # of a function that is not Python's
        return False
    named = [arg for arg in arguments if arg.kind is arg.KEYWORD_ONLY]
    behind = [arg for arg in arguments[2:] if arg.kind is arg.POSITIONAL_OR_KEYWORD]
    return any(arg.name == "key" for arg in (*named, *behind))


def _scale_of(optimizer: Tree) -> Any:
    return as_value(optimizer.loss_scale) if isinstance(optimizer, LossScale) else None


def _scaled(
    loss: Callable[..., Any], scale: Any, compute: Any, has_aux: bool, weighted: bool
) -> Callable[..., Any]:
    """The loss of what was cast, times the scale."""
    if scale is None and compute is None:
        return loss

    def computed(params: Tree, batch: Tree, **key: Any) -> Any:
        arguments = (params, batch) if compute is None else cast((params, batch), compute)
        result = loss(*arguments, **key)
        if scale is None:
            return result
        main, *aux = result if has_aux else (result,)
        total, *weight = main if weighted else (main,)
        wide = as_value(total).astype("float32") * scale
        main = (wide, *weight) if weighted else wide
        return (main, *aux) if has_aux else main

    return computed


def _constrained(grads: Tree, shardings: Any) -> Tree:
    leaves, spec = pytrees.flatten(grads)
    places = pytrees.flatten_shardings(shardings, grads, "gradients")
    return pytrees.unflatten(
        spec, [g if place is None else constrain(g, place) for g, place in zip(leaves, places)]
    )


def _metrics(value: Any, norm: Any, scale: Any, optimizer: Tree, aux: Any) -> dict[str, Any]:
    if not isinstance(aux, Mapping):
        raise TraceTypeError(f"step: expected aux to be a dict of metrics, got {aux!r}")
    for name in _NAMES:
        if name in aux:
            raise TraceError(f'step: aux has a metric "{name}", which is the step\'s own')
    if scale is None:
        return {"loss": value, "grad_norm": norm, **aux}
    kept = {"loss_scale": optimizer.loss_scale, "skipped": optimizer.skipped}
    return {"loss": value / scale, "grad_norm": norm / scale, **kept, **aux}
