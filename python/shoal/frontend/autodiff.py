# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of functions, inside of a function that is traced. Names and meaning are JAX's.

A function is traced apart and the compiler writes its derivative (docs/guide/Autodiff.md); there is
no rule of differentiation here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import optree

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes, pytrees
from shoal.frontend.checks import as_int, check
from shoal.frontend.constants import as_value
from shoal.frontend.core import current, emit_one, type_of
from shoal.frontend.creation import zeros
from shoal.frontend.subfunctions import name_of, subfunction
from shoal.frontend.value import Value

__all__ = ["grad", "jvp", "stop_gradient", "value_and_grad", "vjp"]

Tree = Any


def grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function of the same arguments that returns the gradient of the function's result.

    function: returns a scalar of floats, with `has_aux` a pair of it and a tree of anything.
    argnums: the positional arguments to differentiate by, trees of floats: a number for the
      gradient of one, which has its structure, a sequence for a tuple of gradients.

    Returns the gradient; with `has_aux` a pair of it and the tree. TraceError and
    TraceTypeError where the function or its arguments are others.
    """
    both = value_and_grad(function, argnums, has_aux)

    @functools.wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, grads = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return gradient


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """As `grad`, returning the function's result and the gradient."""
    numbers = _argument_numbers(argnums)
    name = name_of(function)

    @functools.wraps(function)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        current("grad")
        check(
            all(-len(args) <= number < len(args) for number in numbers),
            f"grad: argument {max(numbers, key=abs)} of {name}, which is called with {len(args)}",
        )
        chosen = tuple(args[number] for number in numbers)
        values, tree = _differentiable(chosen, "grad: argument")

        def run(*leaves: Value) -> Any:
            replaced = list(args)
            for number, argument in zip(numbers, pytrees.unflatten(tree, leaves)):
                replaced[number] = argument
            return _scalar_first(function(*replaced, **kwargs), has_aux)

        traced = subfunction(run, name, [type_of(value) for value in values])
        made = traced.derivative("value-and-grad", [0], values)
        count = len(traced.results)
        result = pytrees.unflatten(traced.tree, made[:count])
        grads = pytrees.unflatten(tree, made[count:])
        value = result if has_aux else result[0]
        return value, grads[0] if isinstance(argnums, int) else grads

    return value_and_gradient


def vjp(
    function: Callable[..., Any], *primals: Tree, has_aux: bool = False
) -> tuple[Any, ...]:
    """The function's result at `primals`, and the function that pulls cotangents back.

    primals: trees of floats. The second result takes a tree like the function's result, whose
    leaves are cotangents (those of integers are ignored), and returns a tuple of trees like
    the primals. With `has_aux` the function returns a pair, of whose second part there are no
    cotangents; it is the third result.
    """
    current("vjp")
    values, tree = _differentiable(primals, "vjp: argument")
    name = name_of(function)

    def run(*leaves: Value) -> Any:
        result = function(*pytrees.unflatten(tree, leaves))
        if has_aux and not (isinstance(result, tuple) and len(result) == 2):
            raise TraceTypeError(f"vjp: expected the function to return (result, aux), got {result!r}")
        return result if has_aux else (result, ())

    traced = subfunction(run, name, [type_of(value) for value in values])
    out, aux = pytrees.unflatten(traced.tree, traced.call(values))
    leaves, out_tree = pytrees.flatten(out)

    def pull(cotangents: Tree) -> tuple[Tree, ...]:
        outputs, given = _cotangents(cotangents, leaves, out_tree)
        if not outputs:
            return pytrees.unflatten(tree, [zeros(v.shape, v.dtype) for v in values])
        made = traced.derivative("vjp", outputs, [*values, *given])
        return pytrees.unflatten(tree, made[len(traced.results) :])

    return (out, pull, aux) if has_aux else (out, pull)


def jvp(
    function: Callable[..., Any], primals: Sequence[Tree], tangents: Sequence[Tree]
) -> tuple[Any, Any]:
    """The function's result at `primals`, and its derivative along `tangents`, trees like them.

    Made of two pullbacks: the derivative of a pullback by its cotangents is the derivative of
    the function.
    """
    out, pull = vjp(function, *primals)
    leaves, tree = pytrees.flatten(out)
    if not all(dtypes.is_float(leaf.dtype) for leaf in leaves):
        raise TraceTypeError("jvp: expected the function to return floats alone")
    start = pytrees.unflatten(tree, [zeros(leaf.shape, leaf.dtype) for leaf in leaves])
    _, push = vjp(pull, start)
    return out, push(tuple(tangents))[0]


def stop_gradient(tree: Tree) -> Tree:
    """The values of a tree, which count as constants to `grad` and its like."""
    leaves, spec = pytrees.flatten(tree)
    return pytrees.unflatten(spec, [_stop(as_value(leaf)) for leaf in leaves])


def _stop(value: Value) -> Value:
    if not dtypes.is_float(value.dtype):
        return value
    return emit_one("shoal.stop_gradient", [value], value.shape, value.dtype)


def _argument_numbers(argnums: int | Sequence[int]) -> tuple[int, ...]:
    listed = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    check(listed, "grad: argnums is empty")
    return tuple(as_int(number, "grad: argnums") for number in listed)


def _differentiable(tree: Tree, what: str) -> tuple[list[Value], optree.PyTreeSpec]:
    """The leaves, all floats."""
    leaves, spec = pytrees.flatten(tree)
    values = []
    for path, leaf in zip(pytrees.paths(tree), leaves):
        place = f"{what}{pytrees.place(path)}"
        value = as_value(leaf, what=place)
        if not dtypes.is_float(value.dtype):
            raise TraceTypeError(f"{place} is {value!r}; expected floats to differentiate by")
        values.append(value)
    check(values, f"{what}s: no arrays to differentiate by")
    return values, spec


def _scalar_first(result: Any, has_aux: bool) -> tuple[Any, ...]:
    if has_aux and not (isinstance(result, tuple) and len(result) == 2):
        raise TraceTypeError(f"grad: expected the function to return (value, aux), got {result!r}")
    first = result[0] if has_aux else result
    leaves, _ = pytrees.flatten(first)
    if len(leaves) != 1 or leaves[0] is not first:
        raise TraceTypeError(f"grad: the output is {first!r}; expected a scalar")
    value = as_value(first, what="grad: the output")
    if value.ndim or not dtypes.is_float(value.dtype):
        raise TraceTypeError(f"grad: the output is {value!r}; expected a scalar of floats")
    return (value, result[1]) if has_aux else (value,)


def _cotangents(
    tree: Tree, outputs: Sequence[Value], spec: optree.PyTreeSpec
) -> tuple[list[int], list[Value]]:
    """The numbers of the outputs that are floats, and the cotangent of each."""
    leaves, actual = pytrees.flatten(tree)
    if actual != spec:
        raise TraceError(
            f"vjp: the cotangents have the structure {pytrees.describe(actual)}, "
            f"the result has {pytrees.describe(spec)}"
        )
    numbers, values = [], []
    for number, (leaf, output) in enumerate(zip(leaves, outputs)):
        if not dtypes.is_float(output.dtype):
            continue
        value = as_value(leaf, output.dtype, "vjp: a cotangent")
        if type_of(value) != type_of(output):
            raise TraceTypeError(f"vjp: a cotangent is {value!r}, of a result {output!r}")
        numbers.append(number)
        values.append(value)
    return numbers, values
