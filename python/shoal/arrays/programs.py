# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients, loops and random numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shoal.arrays.worlds import Array, ArrayLike, like, world_of

Shape = Sequence[int]


def stop_gradient(x: ArrayLike) -> Array:
    """The same, without a gradient."""
    return world_of(x).stop_gradient(x)


def value_and_grad(function: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function with its gradient, of trees of arrays: `shoal.value_and_grad`, or JAX's."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return world_of(like(*args)).value_and_grad(function, argnums, has_aux)(*args, **kwargs)

    return called


def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The result, and the function that pulls cotangents back, of trees of arrays; with `has_aux` what the function returns
    beside it as a third: `shoal.vjp`, or JAX's."""
    return world_of(like(*primals)).vjp(function, *primals, has_aux=has_aux)


def scan(body: Callable[[Any, Any], Any], init: Any, xs: Any = None, length: int | None = None) -> Any:
    """`carry, ys[i] = body(carry, xs[i])` for each row i of xs, trees of arrays, or `length` times; gives (carry, ys)."""
    return world_of(like(init, xs)).scan(body, init, xs, length)


def fori_loop(lower: int, upper: int, body: Callable[[Array, Any], Any], init: Any) -> Any:
    """`carry = body(i, carry)` for i in lower ... upper - 1; a tree of arrays of the same types."""
    return world_of(like(init)).fori_loop(lower, upper, body, init)


def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """Repeats `carry = body(carry)` while `cond(carry)`, a scalar bool, holds; a tuple of arrays of the same types."""
    return world_of(*init).while_loop(cond, body, init)


def fold_in(key: ArrayLike, number: ArrayLike, *, like: Any = None) -> Array:
    """A new key of a key and an integer, of a key of NumPy's in the world of `like`."""
    return world_of(key, like).fold_in(key, number)


def uniform(key: ArrayLike, shape: Shape, dtype: Any = "float32", *, like: ArrayLike) -> Array:
    """Uniform in [0, 1), in the world of `like` by its generator: `shoal.random`, or `jax.random`."""
    return world_of(like).uniform(key, shape, dtype, like)


def normal(key: ArrayLike, shape: Shape, dtype: Any = "float32", *, like: ArrayLike) -> Array:
    """Of mean 0 and variance 1, as `uniform`."""
    return world_of(like).normal(key, shape, dtype, like)
