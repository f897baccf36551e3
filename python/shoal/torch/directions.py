# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adam, Muon and Adafactor as torch has them, which are others than optax's."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import or_one
from shoal.frontend import contraction, dtypes, reduction, structure
from shoal.frontend.constants import as_value
from shoal.frontend.elementwise import astype, divide, expm1, maximum, minimum, multiply, power, rsqrt, sqrt
from shoal.optim import Transform
from shoal.optim.trees import Parts, count, sums_like, unzip, widened, zip_leaves

Tree = Mapping[str, Any]


class Direction(NamedTuple):
    """What is added to parameters. init: from these to the state. update: of (gradients, state, parameters, rate) to (updates, new state)."""

    init: Callable[[Tree], Any]
    update: Callable[[Tree, Any, Tree, Any], tuple[Tree, Any]]


def against(transform: Transform) -> Direction:
    """The rate times what a transform says, downwards."""

    def update(grads: Tree, state: Any, params: Tree, rate: Any) -> tuple[Tree, Any]:
        moved, kept = transform.update(grads, state, params)
        return {name: multiply(part, multiply(rate, -1.0)) for name, part in moved.items()}, kept

    return Direction(transform.init, update)


class _Moments(NamedTuple):
    count: Any
    mu: Any
    nu: Any


def adam(betas: Sequence[float], eps: float) -> Transform:
    """Adam's direction (arXiv 1412.6980). What corrects its means is to full precision, as torch's, which are numbers of Python's:
    1 - 0.999^steps has four digits in float32."""

    def update(grads: Tree, state: Any, params: Tree) -> tuple[Tree, Any]:
        steps = as_value(state.count) + 1

        def correction(beta: float, dtype: np.dtype) -> Any:
            number = astype(steps, np.float64 if dtype == np.float64 else np.float32)
            return astype(multiply(expm1(multiply(number, math.log(beta) if beta else -math.inf)), -1.0), dtype)

        def step(grad: Any, mu: Any, nu: Any) -> Parts:
            grad = widened(grad)
            mu = betas[0] * as_value(mu) + (1 - betas[0]) * grad
            nu = betas[1] * as_value(nu) + (1 - betas[1]) * (grad * grad)
            hat, root = divide(mu, correction(betas[0], mu.dtype)), divide(nu, correction(betas[1], nu.dtype))
            return Parts(divide(hat, or_one(sqrt(root) + eps)), mu, nu)

        updates, mu, nu = unzip(zip_leaves(step, grads, state.mu, state.nu), 3)
        return updates, _Moments(steps, mu, nu)

    return Transform(lambda params: _Moments(count(), sums_like(params), sums_like(params)), update)


class _Momentum(NamedTuple):
    momentum: Any


# How a rate is scaled by a matrix' sizes.
_SCALES: dict[str | None, Callable[[int, int], float]] = {
    None: lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
    "spectral_unclamped": lambda rows, columns: math.sqrt(rows / columns),
}


def muon(group: Mapping[str, Any]) -> Direction:
    """Momentum whose matrix is made orthogonal by steps of Newton and Schulz in bfloat16; decay is by the rate alone."""
    momentum, decay = group["momentum"], group["weight_decay"]
    scale = _SCALES[group["adjust_lr_fn"]]

    def update(grads: Tree, state: Any, params: Tree, rate: Any) -> tuple[Tree, Any]:
        def step(grad: Any, mean: Any, param: Any) -> Parts:
            grad, mean = widened(grad), widened(mean)
            mean = momentum * mean + (1 - momentum) * grad
            seen = (1 - momentum) * grad + momentum * mean if group["nesterov"] else mean
            made = astype(_orthogonal(seen, group["ns_coefficients"], group["ns_steps"], group["eps"]), grad.dtype)
            moved = scale(*grad.shape) * made + decay * widened(param)
            return Parts(multiply(moved, multiply(rate, -1.0)), mean)

        updates, means = unzip(zip_leaves(step, grads, state.momentum, params), 2)
        return updates, _Momentum(means)

    return Direction(lambda params: _Momentum(sums_like(params)), update)


def _orthogonal(matrix: Any, coefficients: tuple[float, float, float], steps: int, eps: float) -> Any:
    """bfloat16 [rows, columns], of which a sum of squares is rounded as torch rounds it."""
    first, second, third = coefficients
    narrow = astype(matrix, dtypes.bfloat16)
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = structure.transpose(narrow) if is_tall else narrow
    wide = astype(x, "float32")
    norm = maximum(astype(sqrt(reduction.sum(wide * wide)), dtypes.bfloat16), as_value(eps, dtypes.bfloat16))
    x = astype(divide(wide, astype(norm, "float32")), dtypes.bfloat16)
    for _ in range(steps):
        gram = _product(x, structure.transpose(x))
        update = astype(second * astype(gram, "float32") + third * _wide_product(gram, gram), dtypes.bfloat16)
        x = astype(first * astype(x, "float32") + _wide_product(update, x), dtypes.bfloat16)
    return structure.transpose(x) if is_tall else x


def _product(x: Any, y: Any) -> Any:
    return astype(_wide_product(x, y), dtypes.bfloat16)


def _wide_product(x: Any, y: Any) -> Any:
    return contraction.matmul(astype(x, "float32"), astype(y, "float32"))


class _Factored(NamedTuple):
    count: Any
    rows: Any
    columns: Any
    full: Any


def adafactor(group: Mapping[str, Any]) -> Direction:
    """Means of squares by rows and columns of the last two dimensions, of vectors by elements; the step is by the parameter's size."""
    small, least = group["eps"]

    def init(params: Tree) -> _Factored:
        def zeros(shape: tuple[int, ...]) -> np.ndarray:
            return np.zeros(shape, np.float32)

        shapes = {name: tuple(param.shape) for name, param in params.items()}
        none = (1,)
        return _Factored(
            count(),
            {name: zeros((*shape[:-1], 1) if len(shape) > 1 else none) for name, shape in shapes.items()},
            {name: zeros((*shape[:-2], 1, shape[-1]) if len(shape) > 1 else none) for name, shape in shapes.items()},
            {name: zeros(none if len(shape) > 1 else shape) for name, shape in shapes.items()},
        )

    def update(grads: Tree, state: Any, params: Tree, rate: Any) -> tuple[Tree, Any]:
        steps = as_value(state.count) + 1
        number = steps.astype("float32")
        share = power(number, np.float32(group["beta2_decay"]))
        bound = minimum(rate, rsqrt(number))

        def step(grad: Any, param: Any, row: Any, column: Any, full: Any) -> Parts:
            value, row, column, full = map(widened, (grad, row, column, full))
            eps = float(np.finfo(np.float32).eps) if small is None else small
            squares = value * value
            if value.ndim > 1:
                row = row + share * (reduction.mean(squares, -1, keepdims=True) - row)
                column = column + share * (reduction.mean(squares, -2, keepdims=True) - column)
                estimate = row * column / maximum(reduction.mean(row, -2, keepdims=True), eps)
            else:
                full = full + share * (squares - full)
                estimate = full
            made = rsqrt(maximum(estimate, eps * eps)) * value
            size = maximum(_rms(widened(param)), least) * bound
            clipped = maximum(_rms(made) / group["d"], 1.0)
            kept = multiply(widened(param), multiply(rate, -group["weight_decay"]))
            return Parts(kept - made * (size / clipped), row, column, full)

        updates, rows, columns, full = unzip(zip_leaves(step, grads, params, state.rows, state.columns, state.full), 4)
        return updates, _Factored(steps, rows, columns, full)

    return Direction(init, update)


def _rms(value: Any) -> Any:
    return sqrt(reduction.sum(value * value) / value.size)
