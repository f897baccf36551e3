# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients over micro-batches, and of computations in fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.arrays import (
    Array, ArrayLike, as_value, fold_in, full, iota, is_array, largest, like, max, mean, moveaxis, noting_kinds, ones, or_one, scan,
    stack, sum, summed, value_and_grad, vjp, where,
)  # fmt: skip
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes, pytrees
from shoal.frontend.constants import as_array
from shoal.frontend.core import is_tracing
from shoal.optim.trees import sums_like, widened, zip_leaves

__all__ = ["accumulate", "cast"]

Tree = Any


def cast(tree: Tree, dtype: Any, mask: Tree | Callable[[Tree], Tree] = True) -> Tree:
    """The floats of a tree as this type; all others as they are.

    mask: a tree of bools like it, a prefix of one, or a function that makes one of it: which of them are
      cast. What is state, mask or weight keeps its bits so.

    `loss(cast(params, "bfloat16"), batch)` computes in bfloat16 with float32 master weights:
    gradients by `params` are float32, as sums of them and their means over devices are.
    Where no function is traced, arrays become NumPy's, but for JAX's: `cast(model.read(folder), "float32")` are such masters.
    """
    target = dtypes.as_dtype(dtype)

    def converted(leaf: Any, chosen: bool) -> Any:
        value = as_value(leaf) if is_tracing() or is_array(leaf) else _on_host(leaf)
        return value.astype(target) if chosen and dtypes.is_float(value.dtype) else value

    chosen = mask(tree) if callable(mask) else mask
    return pytrees.map_leaves(converted, tree, pytrees.spread(chosen, tree, "cast: mask"))


def _on_host(leaf: Any) -> Any:
    """NumPy's array of a leaf, which may lie on devices; TraceTypeError for what is none."""
    is_others = hasattr(leaf, "__array__") and not isinstance(leaf, np.ndarray)
    return as_array(np.asarray(leaf) if is_others else leaf, "cast")


def accumulate(
    loss: Callable[..., Any], count: int, *, has_aux: bool = False, weighted: bool = False,
    key: ArrayLike | None = None, overlap: int = 1,
) -> Callable[..., Any]:  # fmt: skip
    """`value_and_grad(loss)` over `count` micro-batches, one after the other in one program.

    loss: of (params, *batch), trees whose arrays have the batch's rows in front. Micro-batch i has
      the rows i, i + count, ... of them: rows stay on their devices.
    weighted: `loss` returns a pair (total, weight), the sum over what counts of its rows, as
      tokens, and how much that is. The result is of the sum of totals over that of weights,
      whatever weights micro-batches have; a mean of means would not be. Of no weight at all it is the sum.
    has_aux: `loss` returns a pair, whose second part is a tree of metrics. The result has what they are
      of the whole batch: of integers and bools the sum, of floats the mean by the micro-batches' weights
      (where there are none, the mean), of `train.summed` and `train.largest` what these say.
    key: the loss is called with `key=`: this one, or of several micro-batches `random.fold_in(key, i)`.
    overlap: so many micro-batches, a divisor of `count`, are independent of each other in one block: what one sends runs
      beside another's kernels, where collectives run in the background. The same numbers, to the bit; values
      for the backward pass of all of them are held.

    Returns what `value_and_grad` returns: (value, gradients), or ((value, aux), gradients). Sums are
    made in float32 or wider, and gradients are rounded to the parameters' types once; the value is float32
    or wider. Sums over devices are made once, behind the last micro-batch.
    """
    if count < 1:
        raise TraceError(f"accumulate: expected at least one micro-batch, got {count}")
    if overlap < 1 or count % overlap:
        raise TraceError(f"accumulate: {count} micro-batches are not divisible by overlap={overlap}")
    kinds: list[str] = []
    parts = _parts_of(loss, has_aux, weighted)
    if count > 1:
        parts = noting_kinds(parts, kinds)
    gradient = value_and_grad(parts, has_aux=True)

    def value_and_gradient(params: Tree, *batch: Tree) -> Any:
        if count == 1:
            (total, (weight, aux)), grads = gradient(params, *batch, **_named(key))
        else:
            gradients = _one_by_one(gradient) if overlap == 1 else _beside(parts)
            (total, (weight, aux)), grads = _summed(gradients, kinds, (count, overlap), params, batch, key)
        total = widened(total)
        weight = or_one(widened(weight) if weighted else full((), count, total.dtype, like=total))

        def mean_of(g: Any, p: Any) -> Any:
            wide = widened(g)
            return (wide / weight.astype(wide.dtype)).astype(as_value(p, g).dtype)

        value = total / weight.astype(total.dtype)
        return ((value, aux) if has_aux else value), zip_leaves(mean_of, grads, params)

    return value_and_gradient


def _parts_of(loss: Callable[..., Any], has_aux: bool, weighted: bool) -> Callable[..., Any]:
    """The loss as (total, (weight, aux)), with () for what it does not return."""

    def parts(*arguments: Any, **key: Any) -> Any:
        made = loss(*arguments, **key)
        main, aux = _pair(made, "(value, aux)") if has_aux else (made, ())
        total, weight = _pair(main, "(total, weight)") if weighted else (main, ())
        return total, (as_value(weight, total) if weighted else (), aux)

    return parts


def _pair(result: Any, expected: str) -> Any:
    if not isinstance(result, tuple) or len(result) != 2:
        raise TraceTypeError(f"accumulate: expected the loss to return {expected}, got {result!r}")
    return result


def _named(key: ArrayLike | None) -> dict[str, ArrayLike]:
    return {} if key is None else {"key": key}


# (params, [(micro-batch, its key)]) to [((total, (weight, aux)), gradients)].
_Gradients = Callable[[Tree, list[tuple[Tree, dict[str, ArrayLike]]]], list[Any]]


def _one_by_one(gradient: Callable[..., Any]) -> _Gradients:
    return lambda params, micros: [gradient(params, *micro, **key) for micro, key in micros]


def _beside(parts: Callable[..., Any]) -> _Gradients:
    """All forward passes stand before all backward passes, so that the values of all are held anyway, and whoever orders
    ops needs no more memory to let them run beside each other."""

    def gradients(params: Tree, micros: list[tuple[Tree, dict[str, ArrayLike]]]) -> list[Any]:
        forward = [_forward(parts, params, *micro) for micro in micros]
        return [(made, pull(ones((), made[0].dtype, like=made[0]))[0]) for made, pull in forward]

    return gradients


def _forward(parts: Callable[..., Any], params: Tree, micro: Tree, key: dict[str, ArrayLike]) -> tuple[Any, Any]:
    """(total, (weight, aux)), and what pulls back to the parameters."""
    total, pull, rest = vjp(lambda params: parts(params, *micro, **key), params, has_aux=True)
    if total.shape or not dtypes.is_float(total.dtype):
        raise TraceTypeError(f"accumulate: expected the loss to be a scalar of floats, got {total!r}")
    return (total, rest), pull


def _summed(
    gradients: _Gradients, kinds: list[str], counts: tuple[int, int], params: Tree, batch: Tree, key: ArrayLike | None
) -> Any:
    """Summed over micro-batches, each with a key of its own; metrics are those of all, by their kinds. kinds: of all that
    `gradients` makes, metrics last. counts: of micro-batches, and of those that are computed together."""
    of = like(*pytrees.flatten((params, batch))[0])
    count, together = counts
    rows = pytrees.map_leaves(lambda leaf: _micro_batches(as_value(leaf, of), count), batch)
    numbers = () if key is None else (iota((count,), 0, like=of),)

    def own_key(number: tuple[Array, ...]) -> dict[str, ArrayLike]:
        return _named(fold_in(key, number[0], like=number[0]) if number else None)

    def step(grads: Tree, items: list[Tree]) -> Any:
        results = gradients(params, [(micro, own_key(number)) for micro, number in items])
        for made, new in results:
            grads = zip_leaves(lambda total, g: total + widened(g), grads, new)
        return grads, [made for made, _ in results]

    start = sums_like(pytrees.map_leaves(lambda leaf: as_value(leaf, of), params))
    grads, (totals, (weights, aux)) = _scanned(step, start, (rows, numbers), count // together, together)
    leaves, spec = pytrees.flatten(aux)
    whole = [_whole(kind, leaf, weights) for kind, leaf in zip(kinds[len(kinds) - len(leaves) :], leaves, strict=True)]
    weight = pytrees.map_leaves(lambda leaf: sum(widened(leaf)), weights)
    return (sum(widened(totals)), (weight, pytrees.unflatten(spec, whole))), grads


def _scanned(body: Callable[[Tree, list[Tree]], Any], start: Tree, xs: Tree, trips: int, together: int) -> Any:
    """`scan` whose trips have so many rows of xs each, as a list; one trip is no loop."""

    def trip(carry: Tree, rows: Tree) -> Any:
        items = [pytrees.map_leaves(lambda leaf, i=i: leaf[i], rows) for i in range(together)]
        carry, made = body(carry, items)
        return carry, pytrees.map_leaves(lambda *leaves: stack(leaves, 0), *made)

    if trips == 1:
        return trip(start, xs)
    if together == 1:
        def single(carry: Tree, row: Tree) -> Any:
            carry, made = body(carry, [row])
            return carry, made[0]

        return scan(single, start, xs)
    cut = pytrees.map_leaves(lambda leaf: leaf.reshape((trips, together, *leaf.shape[1:])), xs)
    carry, made = scan(trip, start, cut)
    return carry, pytrees.map_leaves(lambda leaf: leaf.reshape((trips * together, *leaf.shape[2:])), made)


def _whole(kind: str, parts: Array, weights: Array | tuple[()]) -> Array:
    """A metric of the batch, of those of its parts [n, ...], which have weights [n] or are all alike."""
    if kind == "max":
        return largest(max(parts, 0))
    if kind == "sum":
        return summed(sum(widened(parts), 0))
    wide = widened(parts)
    if not is_array(weights):
        return mean(wide, 0)
    shares = widened(weights).astype(wide.dtype).reshape(-1, *[1] * (wide.ndim - 1))
    # What nothing counts of may be 0 / 0.
    return sum(where(shares != 0, wide * shares, 0.0), 0) / sum(shares, 0)


def _micro_batches(value: Any, count: int) -> Any:
    """[B, ...] to [count, B / count, ...]: a device's rows are part of each micro-batch."""
    if not value.ndim or value.shape[0] % count:
        raise TraceError(
            f"accumulate: {count} micro-batches do not divide the rows of {value!r}"
        )
    rows = value.shape[0] // count
    return moveaxis(value.reshape((rows, count, *value.shape[1:])), 1, 0)
