# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of functions, inside of a function that is traced. Names and meaning are JAX's.

A function is traced apart and the compiler writes its derivative (docs/Autodiff.md); there is
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
from shoal.frontend.core import Type, current, emit_one
from shoal.frontend.creation import zeros
from shoal.frontend.subfunctions import Subfunction, subfunction
from shoal.frontend.value import Value

__all__ = ["custom_vjp", "grad", "jvp", "stop_gradient", "value_and_grad", "vjp"]

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
    name = _name_of(function)

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

        traced = subfunction(run, name, [_type(value) for value in values])
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
    name = _name_of(function)

    def run(*leaves: Value) -> Any:
        result = function(*pytrees.unflatten(tree, leaves))
        if has_aux and not (isinstance(result, tuple) and len(result) == 2):
            raise TraceTypeError(f"vjp: expected the function to return (result, aux), got {result!r}")
        return result if has_aux else (result, ())

    traced = subfunction(run, name, [_type(value) for value in values])
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


class custom_vjp:  # noqa: N801, a decorator, as JAX calls it
    """A function with a derivative of its own.

        @shoal.custom_vjp
        def f(x, y): ...

        f.defvjp(forward, backward)

    forward: of the function's arguments; returns a pair of what the function returns and a
      tree of residuals.
    backward: of residuals and a tree of cotangents like the function's result; returns a
      tuple, for each argument a tree of cotangents like it, or None for zeros. Cotangents of
      integers are None.
    nondiff_argnums: positional arguments that are no arrays: the same for all three, and the
      first ones of `backward`.

    Values from around the function must be arguments of it.
    """

    def __init__(self, function: Callable[..., Any], nondiff_argnums: Sequence[int] = ()):
        functools.update_wrapper(self, function)
        self._function = function
        self._static = frozenset(as_int(n, "custom_vjp: nondiff_argnums") for n in nondiff_argnums)
        self._rules: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Gives the derivative."""
        self._rules = forward, backward

    def __call__(self, *args: Tree) -> Tree:
        name = _name_of(self._function)
        if self._rules is None:
            raise TraceError(f"custom_vjp: {name} has no derivative yet; give it by defvjp")
        current("custom_vjp")
        forward, backward = self._rules
        static = [args[n] for n in sorted(self._static)]
        leaves, tree = pytrees.flatten([a for n, a in enumerate(args) if n not in self._static])
        values = [as_value(leaf, what=f"{name}: an argument") for leaf in leaves]
        types = [_type(value) for value in values]

        def with_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
            def run(*flat: Value) -> Any:
                arrays = iter(pytrees.unflatten(tree, flat))
                given = (a if n in self._static else next(arrays) for n, a in enumerate(args))
                return function(*given)

            return run

        made = _closed(subfunction(with_arguments(forward), f"{name}.forward", types), name)
        out_tree, kept_tree = _halves(made.tree, name)
        count = out_tree.num_leaves
        results, kept = made.results[:count], made.results[count:]
        floats = [type_ for type_ in results if dtypes.is_float(type_[1])]

        def run_backward(*flat: Value) -> Any:
            cotangents = iter(flat[len(kept) :])
            whole = [next(cotangents) if dtypes.is_float(t[1]) else None for t in results]
            residuals = pytrees.unflatten(kept_tree, flat[: len(kept)])
            given = backward(*static, residuals, pytrees.unflatten(out_tree, whole))
            return _own_cotangents(given, tree, types, name)

        pulled = _closed(subfunction(run_backward, f"{name}.backward", [*kept, *floats]), name)
        rules = {"shoal.vjp_forward": made.reference(), "shoal.vjp_backward": pulled.reference()}
        traced = _closed(
            subfunction(with_arguments(self._function), name, types, rules), name
        )
        if (list(traced.results), traced.tree) != (list(results), out_tree):
            raise TraceError(
                f"custom_vjp: {name} returns {pytrees.describe(traced.tree)} of "
                f"{list(traced.results)}, its forward {pytrees.describe(out_tree)} of {list(results)}"
            )
        return pytrees.unflatten(traced.tree, traced.call(values))


def _closed(traced: Subfunction, name: str) -> Subfunction:
    if traced.captured:
        raise TraceError(
            f"custom_vjp: {name} uses {traced.captured[0]!r} from around it; pass it as an argument"
        )
    return traced


def _halves(tree: optree.PyTreeSpec, name: str) -> tuple[optree.PyTreeSpec, optree.PyTreeSpec]:
    if tree.type is not tuple or len(tree.children()) != 2:
        raise TraceTypeError(
            f"custom_vjp: expected the forward of {name} to return (result, residuals), "
            f"got {pytrees.describe(tree)}"
        )
    first, second = tree.children()
    return first, second


def _own_cotangents(
    given: Any, tree: optree.PyTreeSpec, types: Sequence[Type], name: str
) -> list[Value]:
    """The cotangent of each argument of floats, of what a user's function returned."""
    arguments = tree.children()
    if not isinstance(given, (tuple, list)) or len(given) != len(arguments):
        raise TraceTypeError(
            f"custom_vjp: expected the backward of {name} to return a tuple of "
            f"{len(arguments)} cotangents, one for each argument, got {given!r}"
        )
    rest, result = list(types), []
    for number, (cotangent, argument) in enumerate(zip(given, arguments)):
        mine, rest = rest[: argument.num_leaves], rest[argument.num_leaves :]
        if cotangent is None:
            leaves: list[Any] = [None] * len(mine)
        else:
            leaves = optree.tree_flatten(cotangent, none_is_leaf=True, namespace=pytrees.NAMESPACE)[0]
        what = f"custom_vjp: cotangent {number} of {name}"
        check(len(leaves) == len(mine), f"{what} has {len(leaves)} arrays, the argument {len(mine)}")
        for leaf, (shape, dtype) in zip(leaves, mine):
            if not dtypes.is_float(dtype):
                continue
            value = zeros(shape, dtype) if leaf is None else as_value(leaf, dtype, what)
            if _type(value) != (shape, dtype):
                raise TraceTypeError(f"{what} is {value!r}, of an argument {dtype}{list(shape)}")
            result.append(value)
    return result


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


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", "function")


def _type(value: Value) -> Type:
    return value.shape, value.dtype


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
        if _type(value) != _type(output):
            raise TraceTypeError(f"vjp: a cotangent is {value!r}, of a result {output!r}")
        numbers.append(number)
        values.append(value)
    return numbers, values
