# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients over micro-batches, and of computations in fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes, pytrees
from shoal.frontend.autodiff import value_and_grad
from shoal.frontend.constants import as_value
from shoal.frontend.control_flow import scan
from shoal.frontend.elementwise import or_one
from shoal.frontend.reduction import mean, sum
from shoal.frontend.structure import moveaxis
from shoal.optim.trees import zeros_like, zip_leaves

__all__ = ["accumulate", "cast"]

Tree = Any


def cast(tree: Tree, dtype: Any) -> Tree:
    """The floats of a tree as this type; all others as they are.

    `loss(cast(params, "bfloat16"), batch)` computes in bfloat16 with float32 master weights:
    gradients by `params` are float32, as sums of them and their means over devices are.
    """
    target = dtypes.as_dtype(dtype)

    def converted(leaf: Any) -> Any:
        value = as_value(leaf)
        return value.astype(target) if dtypes.is_float(value.dtype) else value

    return pytrees.map_leaves(converted, tree)


def accumulate(
    loss: Callable[..., Any], count: int, *, has_aux: bool = False, weighted: bool = False
) -> Callable[..., Any]:
    """`value_and_grad(loss)` over `count` micro-batches, one after the other in one program.

    loss: of (params, *batch), trees whose arrays have the batch's rows in front. Micro-batch i has
      the rows i, i + count, ... of them: rows stay on their devices.
    weighted: `loss` returns a pair (total, weight), the sum over what counts of its rows, as
      tokens, and how much that is. The result is of the sum of totals over that of weights,
      whatever weights micro-batches have; a mean of means would not be. Of no weight at all it is the sum.
    has_aux: `loss` returns a pair, whose second part is a tree; the result has its mean.

    Returns what `value_and_grad` returns: (value, gradients), or ((value, aux), gradients).
    Sums over devices are made once, behind the last micro-batch.
    """
    if count < 1:
        raise TraceError(f"accumulate: expected at least one micro-batch, got {count}")
    gradient = value_and_grad(_parts_of(loss, has_aux, weighted), has_aux=True)

    def value_and_gradient(params: Tree, *batch: Tree) -> Any:
        if count == 1:
            (total, (weight, aux)), grads = gradient(params, *batch)
        else:
            (total, (weight, aux)), grads = _summed(gradient, count, params, batch)
        if not weighted:
            weight = as_value(count, total.dtype)
        weight = or_one(weight)
        grads = pytrees.map_leaves(lambda g: g / weight.astype(g.dtype), grads)
        value = total / weight.astype(total.dtype)
        return ((value, aux) if has_aux else value), grads

    return value_and_gradient


def _parts_of(loss: Callable[..., Any], has_aux: bool, weighted: bool) -> Callable[..., Any]:
    """The loss as (total, (weight, aux)), with () for what it does not return."""

    def parts(*arguments: Any) -> Any:
        main, aux = _pair(loss(*arguments), "(value, aux)") if has_aux else (loss(*arguments), ())
        total, weight = _pair(main, "(total, weight)") if weighted else (main, ())
        return total, (as_value(weight) if weighted else (), aux)

    return parts


def _pair(result: Any, expected: str) -> Any:
    if not isinstance(result, tuple) or len(result) != 2:
        raise TraceTypeError(f"accumulate: expected the loss to return {expected}, got {result!r}")
    return result


def _summed(gradient: Callable[..., Any], count: int, params: Tree, batch: Tree) -> Any:
    """As `gradient`, summed over micro-batches; aux is their mean."""
    rows = pytrees.map_leaves(lambda leaf: _micro_batches(as_value(leaf), count), batch)

    def step(grads: Tree, micro: Tree) -> Any:
        made, new = gradient(params, *micro)
        return zip_leaves(lambda total, g: total + g, grads, new), made

    start = zeros_like(pytrees.map_leaves(as_value, params))
    grads, (totals, (weights, aux)) = scan(step, start, rows)
    weight = pytrees.map_leaves(sum, weights)
    return (sum(totals), (weight, pytrees.map_leaves(lambda leaf: mean(leaf, 0), aux))), grads


def _micro_batches(value: Any, count: int) -> Any:
    """[B, ...] to [count, B / count, ...]: a device's rows are part of each micro-batch."""
    if not value.ndim or value.shape[0] % count:
        raise TraceError(
            f"accumulate: {count} micro-batches do not divide the rows of {value!r}"
        )
    rows = value.shape[0] // count
    return moveaxis(value.reshape((rows, count, *value.shape[1:])), 1, 0)
