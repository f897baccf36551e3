# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions with derivatives of their own. Names and meaning are JAX's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import optree

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes, pytrees
from shoal.frontend.checks import as_int, check
from shoal.frontend.constants import as_value
from shoal.frontend.core import Type, current, type_of
from shoal.frontend.creation import zeros
from shoal.frontend.subfunctions import (
    Subfunction,
    fresh_symbol,
    name_of,
    reference_to,
    subfunction,
)
from shoal.frontend.value import Value

__all__ = ["custom_vjp"]

Tree = Any


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
        # Calls whose derivatives are being traced: what calls itself there is the same function.
        self._open: list[tuple[Any, Subfunction]] = []

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Gives the derivative."""
        self._rules = forward, backward

    def __call__(self, *args: Tree) -> Tree:
        """The function of the arguments, a part of the program; TraceError where `defvjp` was not called."""
        name = name_of(self._function)
        if self._rules is None:
            raise TraceError(f"custom_vjp: {name} has no derivative yet; give it by defvjp")
        trace = current("custom_vjp")
        static = tuple(args[n] for n in sorted(self._static))
        leaves, tree = pytrees.flatten([a for n, a in enumerate(args) if n not in self._static])
        values = [as_value(leaf, what=f"{name}: an argument") for leaf in leaves]
        key = (id(trace), static, tree, tuple(map(type_of, values)))
        for known, traced in self._open:
            if known == key:
                return pytrees.unflatten(traced.tree, traced.call(values))
        traced = self._trace(name, args, tree, key)
        return pytrees.unflatten(traced.tree, traced.call(values))

    def _trace(
        self, name: str, args: Sequence[Tree], tree: optree.PyTreeSpec, key: Any
    ) -> Subfunction:
        """The function, and those of its derivative, which it names."""
        _, static, _, types = key
        symbols = [fresh_symbol(f"{name}.{part}") for part in ("forward", "backward")]
        rules = dict(zip(("shoal.vjp_forward", "shoal.vjp_backward"), map(reference_to, symbols)))

        def with_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
            def run(*flat: Value) -> Any:
                arrays = iter(pytrees.unflatten(tree, flat))
                given = (a if n in self._static else next(arrays) for n, a in enumerate(args))
                return function(*given)

            return run

        forward, backward = self._rules or ()
        traced = _closed(subfunction(with_arguments(self._function), name, types, rules), name)
        self._open.append((key, traced))
        try:
            made = _closed(
                subfunction(with_arguments(forward), name, types, symbol=symbols[0]), name
            )
            kept = _residuals(traced, made, name)

            def run_backward(*flat: Value) -> Any:
                cotangents = iter(flat[len(kept.types) :])
                whole = [next(cotangents) if dtypes.is_float(t[1]) else None for t in traced.results]
                residuals = pytrees.unflatten(kept.tree, flat[: len(kept.types)])
                given = backward(*static, residuals, pytrees.unflatten(traced.tree, whole))
                return _own_cotangents(given, tree, types, name)

            floats = [each for each in traced.results if dtypes.is_float(each[1])]
            _closed(subfunction(run_backward, name, [*kept.types, *floats], symbol=symbols[1]), name)
        finally:
            self._open.pop()
        return traced


class _Residuals(NamedTuple):
    types: Sequence[Type]
    tree: optree.PyTreeSpec


def _residuals(traced: Subfunction, forward: Subfunction, name: str) -> _Residuals:
    """What `forward` returns behind the function's result."""
    tree = forward.tree
    if tree.type is not tuple or len(tree.children()) != 2:
        raise TraceTypeError(
            f"custom_vjp: expected the forward of {name} to return (result, residuals), "
            f"got {pytrees.describe(tree)}"
        )
    first, second = tree.children()
    count = first.num_leaves
    results = list(forward.results[:count])
    if (results, first) != (list(traced.results), traced.tree):
        raise TraceError(
            f"custom_vjp: {name} returns {pytrees.describe(traced.tree)} of "
            f"{_listed(traced.results)}, its forward {pytrees.describe(first)} of {_listed(results)}"
        )
    return _Residuals(forward.results[count:], second)


def _listed(types: Sequence[Type]) -> str:
    return ", ".join(f"{dtype}{list(shape)}" for shape, dtype in types)


def _closed(traced: Subfunction, name: str) -> Subfunction:
    if traced.captured:
        raise TraceError(
            f"custom_vjp: {name} uses {traced.captured[0]!r} from around it; pass it as an argument"
        )
    return traced


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
            if type_of(value) != (shape, dtype):
                raise TraceTypeError(f"{what} is {value!r}, of an argument {dtype}{list(shape)}")
            result.append(value)
    return result
