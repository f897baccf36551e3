# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of optimisers, and their chain; names and formulas are optax's.

Updates, and what a state sums up, are float32 or wider, whatever gradients and parameters are: in bfloat16 a
mean of squares that keeps 0.999 of itself would never fall.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import as_value, full, like, maximum, mean, or_one, power, root_of, rsqrt, sign, sqrt, where
from shoal.errors import TraceError
from shoal.frontend import pytrees
from shoal.frontend.checks import check
from shoal.laws import NUMBER, Law, check_arguments
from shoal.optim.schedules import Schedule
from shoal.optim.trees import Parts, count, square_sum, sums_like, unzip, widened, zip_leaves

__all__ = [
    "Transform", "add_decayed_weights", "apply_updates", "chain", "clip_by_block_rms",
    "clip_by_global_norm", "global_norm", "scale", "scale_by_adam", "scale_by_factored_rms",
    "scale_by_learning_rate", "scale_by_lion", "scale_by_param_rms", "trace",
]  # fmt: skip

Tree = Any
Rate = float | Schedule
_RATE = Law("a number or a schedule, as of optim.warmup_cosine", lambda x: NUMBER.holds(x) or callable(x))


class Transform(NamedTuple):
    """A part of an optimiser.

    init: from the parameters to the state, a tree of arrays: NumPy's zeros for NumPy's
      parameters, values for those of a function that is traced.
    update: from (gradients, state, parameters) to (updates, new state), in a traced function.
    rate: from the state to the learning rate of the next update, a float32 scalar, NumPy's of one that is always the
      same; None where it has none.
    """

    init: Callable[[Tree], Tree]
    update: Callable[[Tree, Tree, Tree], tuple[Tree, Tree]]
    rate: Callable[[Tree], Any] | None = None


def chain(*transforms: Transform) -> Transform:
    """One after the other: each takes the updates of the one before it; rates are multiplied."""

    def init(params: Tree) -> Tree:
        return tuple(transform.init(params) for transform in transforms)

    def update(grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        if len(state) != len(transforms):
            raise TraceError(
                f"chain: the state of {len(state)} transforms, of {len(transforms)} that there are"
            )
        made = []
        for transform, mine in zip(transforms, state):
            grads, mine = transform.update(grads, mine, params)
            made.append(mine)
        return grads, tuple(made)

    return Transform(init, update, _rate_of(transforms))


def _rate_of(transforms: Sequence[Transform]) -> Callable[[Tree], Any] | None:
    """Of a chain."""
    rates = [(place, each.rate) for place, each in enumerate(transforms) if each.rate is not None]
    if not rates:
        return None
    return lambda state: functools.reduce(operator.mul, [rate(state[place]) for place, rate in rates])


def apply_updates(params: Tree, updates: Tree) -> Tree:
    """The parameters plus the updates, rounded once to the parameters' types."""
    return zip_leaves(
        lambda p, u: (widened(p, u) + widened(u)).astype(as_value(p, u).dtype), params, updates
    )


def global_norm(tree: Tree) -> Any:
    """The root of the sum of all squares: a float32 scalar, each element counted once. Its gradient at 0 is 0."""
    squares = [square_sum(leaf) for leaf in pytrees.flatten(tree)[0]]
    total = squares[0]
    for square in squares[1:]:
        total = total + square
    return root_of(total)


def _stateless(update: Callable[[Tree, Tree], Tree]) -> Transform:
    return Transform(lambda params: (), lambda grads, state, params: (update(grads, params), ()))


def scale(factor: float) -> Transform:
    """Multiplies all gradients by the factor."""
    return _stateless(lambda grads, _: pytrees.map_leaves(lambda g: factor * widened(g), grads))


def clip_by_global_norm(largest: float) -> Transform:
    """Scales all gradients down to this norm where theirs is larger. TraceError where it is negative or NaN."""
    check(largest >= 0, f"clip_by_global_norm: a norm of {largest}")

    def update(grads: Tree, _: Tree) -> Tree:
        norm = global_norm(grads)

        def clipped(g: Any) -> Any:
            value = widened(g)
            return where(norm <= largest, value, (value / norm.astype(value.dtype)) * largest)

        return pytrees.map_leaves(clipped, grads)

    return _stateless(update)


def clip_by_block_rms(largest: float) -> Transform:
    """Scales each leaf down to this root of its mean square. TraceError where it is not positive."""
    check(largest > 0, f"clip_by_block_rms: a root of the mean square of {largest}")

    def clipped(g: Any) -> Any:
        value = widened(g)
        return value / maximum(1.0, sqrt(mean(value * value)) / largest)

    return _stateless(lambda grads, _: pytrees.map_leaves(clipped, grads))


def scale_by_param_rms(smallest: float = 1e-3) -> Transform:
    """Times the root of the mean square of each parameter, at least `smallest`."""

    def scaled(g: Any, p: Any) -> Any:
        value = widened(p, g)
        return widened(g) * maximum(sqrt(mean(value * value)), smallest)

    return _stateless(lambda grads, params: zip_leaves(scaled, grads, params))


def add_decayed_weights(
    decay: float, mask: Tree | Callable[[Tree], Tree] | None = None
) -> Transform:
    """Plus `decay` times the parameters.

    mask: a tree of bools like the parameters, or a function that makes it of them: which of
      them decay; all where it is None.
    """

    def update(grads: Tree, params: Tree) -> Tree:
        chosen = mask(params) if callable(mask) else mask
        if chosen is None:
            return zip_leaves(lambda g, p: widened(g) + decay * widened(p, g), grads, params)
        return zip_leaves(
            lambda g, p, on: widened(g) + decay * widened(p, g) if on else g, grads, params, chosen
        )

    return _stateless(update)


class _Counted(NamedTuple):
    count: Any


def scale_by_learning_rate(rate: Rate) -> Transform:
    """Times minus the learning rate: a number, or a schedule of the step's number."""
    check_arguments("scale_by_learning_rate", rate=(rate, _RATE))
    if not callable(rate):
        return scale(-rate)._replace(rate=lambda state: np.float32(rate))

    def update(grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        factor = -rate(as_value(state.count, like(grads)))

        def scaled(g: Any) -> Any:
            wide = widened(g)
            return factor.astype(wide.dtype) * wide

        return pytrees.map_leaves(scaled, grads), _Counted(state.count + 1)

    return Transform(
        lambda params: _Counted(count()), update, lambda state: rate(as_value(state.count)).astype("float32")
    )


class _Trace(NamedTuple):
    trace: Any


def trace(decay: float, nesterov: bool = False) -> Transform:
    """Momentum: gradients plus `decay` times what was before."""

    def update(grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        def step(g: Any, t: Any) -> Any:
            return widened(g) + decay * widened(t, g)

        new = zip_leaves(step, grads, state.trace)
        return zip_leaves(step, grads, new) if nesterov else new, _Trace(new)

    return Transform(lambda params: _Trace(sums_like(params)), update)


class _Adam(NamedTuple):
    count: Any
    mu: Any
    nu: Any


def scale_by_adam(b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8, eps_root: float = 0.0) -> Transform:
    """Adam's direction (arXiv 1412.6980): means of gradients over roots of means of squares.

    It is 0 where both are and there is no eps, as of an expert that never had a token: in float16 1e-8 is 0, too.
    """

    def update(grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        steps = as_value(state.count, like(grads)) + 1
        first, second = _BiasCorrection(b1, steps), _BiasCorrection(b2, steps)

        def step(g: Any, mu: Any, nu: Any) -> Parts:
            g = widened(g)
            mu = b1 * as_value(mu, g) + (1 - b1) * g
            nu = b2 * as_value(nu, g) + (1 - b2) * (g * g)
            hat, root = mu / first.of(mu.dtype), nu / second.of(nu.dtype)
            return Parts(hat / or_one(sqrt(root + eps_root) + eps), mu, nu)

        updates, mu, nu = unzip(zip_leaves(step, grads, state.mu, state.nu), 3)
        return updates, _Adam(steps, mu, nu)

    return Transform(
        lambda params: _Adam(count(), sums_like(params), sums_like(params)), update
    )


class _BiasCorrection:
    """1 - decay^steps, which float32 has to four digits where the decay is 0.999: in float64 for
    moments of that."""

    def __init__(self, decay: float, steps: Any):
        self._decay = decay
        self._steps = steps
        self._made: dict[str, Any] = {}

    def of(self, dtype: np.dtype) -> Any:
        wide = "float64" if dtype == np.float64 else "float32"
        if wide not in self._made:
            number = self._steps.astype(wide)
            self._made[wide] = 1.0 - power(full((), self._decay, number.dtype, like=number), number)
        return self._made[wide].astype(dtype)


class _Lion(NamedTuple):
    mu: Any


def scale_by_lion(b1: float = 0.9, b2: float = 0.99) -> Transform:
    """Lion's direction (arXiv 2302.06675): the sign of a mean of gradients."""

    def update(grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        def step(g: Any, mu: Any) -> Parts:
            g, mu = widened(g), as_value(mu, g)
            return Parts(sign(b1 * mu + (1 - b1) * g), b2 * mu + (1 - b2) * g)

        updates, mu = unzip(zip_leaves(step, grads, state.mu), 2)
        return updates, _Lion(mu)

    return Transform(lambda params: _Lion(sums_like(params)), update)


class _Factored(NamedTuple):
    count: Any
    rows: Any
    columns: Any
    full: Any


def scale_by_factored_rms(
    decay_rate: float = 0.8, smallest_factored: int = 128, eps: float = 1e-30
) -> Transform:
    """Over roots of means of squares, kept as means of rows and columns (arXiv 1804.04235).

    Of a leaf whose two largest dimensions have at least `smallest_factored` rows each the
    state is two vectors (by the other dimensions), of others the means of squares themselves.
    The mean's decay is 1 - step^-decay_rate.
    """

    def init(params: Tree) -> Tree:
        def of(leaf: Any, wanted: int) -> Any:
            shape = tuple(leaf.shape)
            dims = _factored_dims(shape, smallest_factored)
            if (dims is None) != (wanted == 2):
                return np.zeros((1,), np.float32)
            if dims is not None:
                shape = tuple(n for d, n in enumerate(shape) if d != dims[1 - wanted])
            return np.zeros(shape, np.float32)

        return _Factored(
            count(), *(pytrees.map_leaves(lambda p, i=i: of(p, i), params) for i in range(3))
        )

    def update(grads: Tree, state: Tree, params: Tree) -> tuple[Tree, Tree]:
        steps = as_value(state.count, like(grads)) + 1
        decay = 1.0 - power(steps.astype("float32"), np.float32(-decay_rate))

        def step(g: Any, row: Any, column: Any, full: Any) -> Parts:
            g, row, column, full = (widened(part, g) for part in (g, row, column, full))
            squares = g * g + eps
            dims = _factored_dims(g.shape, smallest_factored)
            if dims is None:
                full = decay * full + (1.0 - decay) * squares
                return Parts(g * rsqrt(full), row, column, full)
            small, large = dims
            row = decay * row + (1.0 - decay) * mean(squares, large)
            column = decay * column + (1.0 - decay) * mean(squares, small)
            reduced = small - 1 if small > large else small
            factor = rsqrt(row / mean(row, reduced, keepdims=True))
            made = g * _expand(factor, large) * _expand(rsqrt(column), small)
            return Parts(made, row, column, full)

        made = zip_leaves(step, grads, state.rows, state.columns, state.full)
        updates, rows, columns, full = unzip(made, 4)
        return updates, _Factored(steps, rows, columns, full)

    return Transform(init, update)


def _factored_dims(shape: tuple[int, ...], smallest: int) -> tuple[int, int] | None:
    """The second largest and the largest dimension, where both are large."""
    if len(shape) < 2:
        return None
    order = np.argsort(shape)
    second, first = int(order[-2]), int(order[-1])
    return (second, first) if shape[second] >= smallest else None


def _expand(x: Any, axis: int) -> Any:
    return x.reshape((*x.shape[:axis], 1, *x.shape[axis:]))
