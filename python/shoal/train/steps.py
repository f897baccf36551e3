# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step as a program: loss, gradients, update."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import pytrees
from shoal.frontend.annotations import constrain
from shoal.frontend.constants import as_value
from shoal.frontend.random import fold_in
from shoal.frontend.random import key as random_key
from shoal.optim import LossScale, Transform, accumulate, apply_updates, cast, global_norm
from shoal.train.finiteness import FINITE, all_finite
from shoal.train.state import TrainState

__all__ = ["step"]

Tree = Any
# What a step's metrics have of their own.
_NAMES = ("loss", "grad_norm", "loss_scale", "skipped", FINITE)


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
    seed: the loss is called with `key=` a key of the seed and the step's number, as of routers' noise: the
      same on any devices, in a run that goes on, and in each micro-batch of a step.

    Metrics are the scalars "loss" and "grad_norm", with a dynamic loss scale "loss_scale" and "skipped",
    "finite", whether all floats of the new state are, and those of aux, of any shape.
    """

    def train_step(state: TrainState, batch: Tree) -> tuple[TrainState, dict[str, Any]]:
        scale = _scale_of(state.optimizer)
        of_step = loss if seed is None else partial(loss, key=fold_in(random_key(seed), state.step))
        scaled = _scaled(of_step, scale, compute, has_aux, weighted)
        gradient = accumulate(scaled, micro_batches, has_aux=has_aux, weighted=weighted)
        result, grads = gradient(state.params, batch)
        value, aux = result if has_aux else (result, {})
        if gradients is not None:
            grads = _constrained(grads, gradients)
        updates, kept = optimizer.update(grads, state.optimizer, state.params)
        samples = None if state.samples is None else as_value(state.samples) + _rows(batch)
        new = TrainState(as_value(state.step) + 1, apply_updates(state.params, updates), kept, samples)
        made = _metrics(value, global_norm(grads), scale, kept, aux)
        return new, {**made, FINITE: all_finite(new)}

    return train_step


def _rows(batch: Tree) -> int:
    """Of a batch: of its arrays in the first dimension; 0 of scalars."""
    return next((leaf.shape[0] for leaf in pytrees.flatten(batch)[0] if leaf.shape), 0)


def _scale_of(optimizer: Tree) -> Any:
    return as_value(optimizer.loss_scale) if isinstance(optimizer, LossScale) else None


def _scaled(
    loss: Callable[..., Any], scale: Any, compute: Any, has_aux: bool, weighted: bool
) -> Callable[..., Any]:
    """The loss of what was cast, times the scale."""
    if scale is None and compute is None:
        return loss

    def computed(params: Tree, batch: Tree) -> Any:
        arguments = (params, batch) if compute is None else cast((params, batch), compute)
        result = loss(*arguments)
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
