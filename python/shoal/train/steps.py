# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step as a program: loss, gradients, update."""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from shoal.arrays import as_value, constrain, fold_in, isfinite, like, mesh_around, stop_gradient, where
from shoal.errors import CompileWarning, TraceError, TraceTypeError
from shoal.frontend import dtypes, pytrees
from shoal.frontend.buffers import Buffers, buffers_of, step_with
from shoal.frontend.random import words_of
from shoal.laws import CALLABLE, COUNT, FLAG, SIZE, Law, check_arguments, instance_of, or_none
from shoal.optim import IfFinite, LossScale, Transform, accumulate, apply_updates, cast, global_norm
from shoal.train.state import TrainState

__all__ = ["step"]

Tree = Any
_TRANSFORM = Law(
    "a Transform, as of optim.adamw(1e-3)", lambda x: all(callable(getattr(x, name, None)) for name in ("init", "update"))
)
# What a step's metrics have of their own.
_NAMES = ("loss", "grad_norm", "learning_rate", "loss_scale", "skipped")


def step(
    loss: Callable[..., Any],
    optimizer: Transform,
    *,
    has_aux: bool = False,
    weighted: bool = False,
    micro_batches: int = 1,
    overlap: int = 1,
    compute: Any = None,
    inputs: Any = None,
    buffers: Buffers | None = None,
    gradients: Any = None,
    seed: int | None = None,
) -> Callable[[TrainState, Tree], tuple[TrainState, dict[str, Any]]]:
    """A function from (state, batch) to (state, metrics), for `shoal.jit`, or of JAX's arrays for jax.jit and shoal.jax.jit.

    loss: of (params, batch): a scalar; with `has_aux` and `weighted` as in `optim.accumulate`,
      the aux a dict of metrics. A `dynamic_loss_scale` optimiser has it scaled.
    micro_batches: into how many a batch is cut; overlap: how many of them run beside each other; see `optim.accumulate`.
    compute: the type that parameters are cast to for the loss, those that are floats and no buffers. The
      batch keeps its types, as it has masks and weights, but for its `inputs`.
    inputs: which floats of the batch are cast, too: a tree of bools like it, or a prefix of one, as True for
      all. Without it none is, and floats are named by a CompileWarning.
    buffers: which leaves of the parameters are state, and how it moves; None: as the loss declares, see `Buffers`.
      They stay where gradients are not finite.
    gradients: where gradients lie between loss and update, a tree of P or a prefix of one, as
      of ZeRO-2; None: as is best.
    seed: a loss that takes `key` by its name is called with a key of the seed and the step's number, as of routers'
      noise, and in each micro-batch with another one: the same on any devices and in a run that goes on. None is 0;
      with a number the loss must take a key.

    Metrics are the scalars "loss", "grad_norm" and, where the optimiser has one, "learning_rate", of this step's
    update; of steps that may be left out "skipped", how many were, and with a dynamic loss scale "loss_scale"; and
    those of aux, of any shape. TraceError where aux has one of these names, and where the loss reads experts' biases and declares no buffers.
    """
    check_arguments(
        "step", loss=(loss, CALLABLE), optimizer=(optimizer, _TRANSFORM), has_aux=(has_aux, FLAG),
        weighted=(weighted, FLAG), micro_batches=(micro_batches, SIZE), overlap=(overlap, SIZE),
        buffers=(buffers, or_none(instance_of(Buffers, what="train.Buffers"))), seed=(seed, or_none(COUNT)),
    )  # fmt: skip
    declared = buffers_of(loss) if buffers is None else buffers
    form = {"has_aux": has_aux, "weighted": weighted}
    draws = seed is not None or _takes_key(loss)

    def gradient_of(state: TrainState, batch: Tree) -> Any:
        """Of the scaled loss: ((value, aux), gradients)."""
        if compute is not None and inputs is None:
            _warn_of_floats(batch, compute)
        key = fold_in(words_of(seed or 0), state.step, like=state.step) if draws else None
        scaled = _scaled(_computed(loss, declared, compute, inputs), _scale_of(state.optimizer), **form)
        with step_with(declared):
            summed = accumulate(scaled, micro_batches, **form, key=key, overlap=overlap)
            result, grads = summed(state.params, batch)
        return (result if has_aux else (result, {})), grads if gradients is None else _constrained(grads, gradients)

    def train_step(state: TrainState, batch: Tree) -> tuple[TrainState, dict[str, Any]]:
        (value, aux), grads = gradient_of(state, batch)
        _check_metrics(aux)
        updates, kept = optimizer.update(grads, state.optimizer, state.params)
        norm, params = global_norm(grads), apply_updates(state.params, updates)
        if declared is not None:
            params = _with_buffers(params, state.params, declared, aux, isfinite(norm))
        samples = None if state.samples is None else as_value(state.samples) + _rows(batch)
        new = TrainState(as_value(state.step) + 1, params, kept, samples)
        return new, {**_own_metrics(value, norm, optimizer, state.optimizer, kept), **aux}

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


def _rows(batch: Tree) -> int:
    """Of a batch: of its arrays in the first dimension; 0 of scalars."""
    return next((leaf.shape[0] for leaf in pytrees.flatten(batch)[0] if leaf.shape), 0)


def _scale_of(optimizer: Tree) -> Any:
    return as_value(optimizer.loss_scale) if isinstance(optimizer, LossScale) else None


def _computed(
    loss: Callable[..., Any], buffers: Buffers | None, compute: Any, inputs: Any
) -> Callable[..., Any]:
    """The loss of what was cast, with buffers as they are."""

    def computed(params: Tree, batch: Tree, **key: Any) -> Any:
        if compute is not None:
            batch = cast(batch, compute, False if inputs is None else inputs)
        if buffers is None:
            return loss(params if compute is None else cast(params, compute), batch, **key)
        mask = buffers.mask(params)
        params = pytrees.map_leaves(lambda p, is_state: stop_gradient(p) if is_state else p, params, mask)
        if compute is not None:
            params = cast(params, compute, pytrees.map_leaves(lambda is_state: not is_state, mask))
        return loss(params, batch, **key)

    return computed


def _warn_of_floats(batch: Tree, compute: Any) -> None:
    """Of floats that are computed with in their own type, which nobody has said anything of."""
    of = like(*pytrees.flatten(batch)[0])
    leaves = zip(pytrees.paths(batch), (as_value(leaf, of) for leaf in pytrees.flatten(batch)[0]))
    wide = [f"batch{pytrees.place(path)} {leaf.dtype}" for path, leaf in leaves if dtypes.is_float(leaf.dtype)]
    if wide:
        warnings.warn(
            f"step: compute={compute!r}: {', '.join(wide)} keep their types; give inputs=True to cast all floats "
            "of the batch, False to cast none, or a tree of bools like it",
            CompileWarning,
            stacklevel=2,
        )


def _scaled(loss: Callable[..., Any], scale: Any, has_aux: bool, weighted: bool) -> Callable[..., Any]:
    """The loss times the scale."""
    if scale is None:
        return loss

    def scaled(params: Tree, batch: Tree, **key: Any) -> Any:
        result = loss(params, batch, **key)
        main, *aux = result if has_aux else (result,)
        total, *weight = main if weighted else (main,)
        wide = as_value(total).astype("float32") * scale
        main = (wide, *weight) if weighted else wide
        return (main, *aux) if has_aux else main

    return scaled


def _with_buffers(params: Tree, before: Tree, buffers: Buffers, metrics: Any, moves: Any) -> Tree:
    """The parameters with the next buffers, or those before where `moves`, a scalar bool, does not hold."""
    update = buffers.update or (lambda params, metrics: params)
    after = update(before, metrics)

    def chosen(place: tuple[Any, ...], param: Any, old: Any, new: Any, is_state: bool) -> Any:
        if not is_state:
            return param
        old, new = as_value(old, param), as_value(new, param)
        if (new.shape, new.dtype) != (old.shape, old.dtype):
            raise TraceTypeError(f"step: the update of the buffer params{pytrees.place(place)}, {old!r}, is {new!r}")
        return where(moves, new, old)

    leaves, spec = pytrees.flatten(params)
    others = (pytrees.flatten(tree)[0] for tree in (before, after, buffers.mask(before)))
    return pytrees.unflatten(spec, [chosen(*row) for row in zip(pytrees.paths(params), leaves, *others)])


def _constrained(grads: Tree, shardings: Any) -> Tree:
    leaves, spec = pytrees.flatten(grads)
    places = pytrees.flatten_shardings(shardings, grads, "gradients")
    return pytrees.unflatten(
        spec, [g if place is None else constrain(g, place, mesh_around(g)) for g, place in zip(leaves, places)]
    )


def _own_metrics(value: Any, norm: Any, optimizer: Transform, before: Tree, after: Tree) -> dict[str, Any]:
    """The step's own; `before` and `after` are the optimiser's states."""
    scale = _scale_of(before)
    made = {"loss": value, "grad_norm": norm} if scale is None else {"loss": value / scale, "grad_norm": norm / scale}
    if optimizer.rate is not None:
        made["learning_rate"] = as_value(optimizer.rate(before), value)
    if scale is not None:
        made["loss_scale"] = after.loss_scale
    skipped = [guard.skipped for guard in _guards(after)]
    return made | ({"skipped": reduce(operator.add, skipped)} if skipped else {})


def _guards(state: Tree) -> list[Any]:
    """The states of what leaves steps out, anywhere in an optimiser's."""
    if isinstance(state, (IfFinite, LossScale)):
        return [state]
    return [guard for part in state for guard in _guards(part)] if isinstance(state, tuple) else []


def _check_metrics(aux: Any) -> None:
    if not isinstance(aux, Mapping):
        raise TraceTypeError(f"step: expected aux to be a dict of metrics, got {aux!r}")
    for name in _NAMES:
        if name in aux:
            raise TraceError(f'step: aux has a metric "{name}", which is the step\'s own')
