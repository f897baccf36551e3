# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trees of arrays: lists, tuples, dicts and what optree knows in the namespace "shoal"."""

from __future__ import annotations

import inspect
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import optree

from shoal.errors import TraceError, TraceTypeError
from shoal.frontend.annotations import P, as_ours, is_jax_spec
from shoal.mesh import Sharding

NAMESPACE = "shoal"

Tree = Any


def flatten(tree: Any) -> tuple[list[Any], optree.PyTreeSpec]:
    return optree.tree_flatten(tree, namespace=NAMESPACE)


def unflatten(spec: optree.PyTreeSpec, leaves: Sequence[Any]) -> Any:
    return optree.tree_unflatten(spec, leaves)


def map_leaves(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The same tree, with what the function makes of each leaf, in their order.

    others: trees of the same structure, whose leaves the function gets, too.
    """
    # Not by optree, whose frame would be taken for the user's line.
    leaves, spec = flatten(tree)
    columns = (flatten(other)[0] for other in others)
    return unflatten(spec, [function(*row) for row in zip(leaves, *columns)])


def describe(spec: optree.PyTreeSpec) -> str:
    """As Python writes it, with * for each array: (*, {'wi': *})."""
    return re.sub(r"^PyTreeSpec\((.*?)(, namespace='\w*')?\)$", r"\1", str(spec))


def paths(tree: Any) -> list[tuple[Any, ...]]:
    """The keys and positions that lead to each leaf."""
    return optree.tree_paths(tree, namespace=NAMESPACE)


def field_paths(spec: optree.PyTreeSpec) -> list[tuple[str, ...]]:
    """The same of a tree of this form, as words; of named tuples and classes the names of fields."""
    return [
        tuple(str(getattr(entry, "field", entry.entry)) for entry in accessor)
        for accessor in spec.accessors()
    ]


def place(path: Sequence[Any]) -> str:
    """["wi"][0], for errors."""
    return "".join(f"[{key!r}]" for key in path)


def argument_names(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[str]:
    """What each leaf of the arguments is called: x, params.wi, or args.0 of a variadic one."""
    bound = _bind(function, args, kwargs)
    if not args:
        return _names(kwargs, "argument")
    if bound is None:
        positional = {f"arg{i}": arg for i, arg in enumerate(args)}
    else:
        positional = bound.signature.bind_partial(*args).arguments
    # In the order of the leaves: of a dict by its keys.
    return _names(OrderedDict([*positional.items(), *sorted(kwargs.items())]), "argument")


def result_names(result: Any) -> list[str]:
    """result0, result1.router, or a dict's keys."""
    return _names(result, "result")


def _bind(function: Callable, args: Sequence, named: Mapping) -> inspect.BoundArguments | None:
    """TraceTypeError where the function does not take them; None where it does not say."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        return signature.bind(*args, **named)
    except TypeError as error:
        title = getattr(function, "__name__", "the function")
        raise TraceTypeError(f"{title}{signature}: {error}") from None


def _names(tree: Any, kind: str) -> list[str]:
    names: dict[str, tuple] = {}
    for path in paths(tree):
        name = ".".join(map(_usable, path))
        if kind == "result" and (not path or isinstance(path[0], int)):
            name = f"result{name or 0}"
        if name in names:
            raise TraceError(
                f'{kind}s {place(names[name])} and {place(path)} would both be called "{name}"'
            )
        names[name] = path
    return list(names)


def _usable(key: Any) -> str:
    """A key as part of a name, which stands in NAME=FILE and in a file's name."""
    return re.sub(r"[\s=/\0]+", ".", str(key)).strip(".") or "_"


def flatten_shardings(prefix: Any, tree: Any, what: str) -> list[P | Sharding | None]:
    """One per leaf of the tree. A leaf of `prefix` stands for all below it."""

    def is_spec(node: Any) -> bool:
        return node is None or isinstance(node, (P, Sharding)) or is_jax_spec(node)

    leaves, spec = optree.tree_flatten(
        prefix, is_leaf=is_spec, none_is_leaf=True, namespace=NAMESPACE
    )
    for leaf in leaves:
        if not is_spec(leaf):
            raise TraceTypeError(f"{what}: expected shoal.P(...), a Sharding or None, got {leaf!r}")
    leaves = [as_ours(leaf, what) for leaf in leaves]
    any_sharding = P()
    marked = optree.tree_unflatten(spec, [any_sharding if s is None else s for s in leaves])
    try:
        # None in the tree is no array, and has no sharding.
        spread = optree.broadcast_prefix(
            marked, tree, is_leaf=lambda node: node is not None and is_spec(node), namespace=NAMESPACE
        )
    except ValueError as error:
        raise TraceError(f"{what}: {_without_arrays(error)}") from None
    return [None if leaf is any_sharding else leaf for leaf in spread]


def spread(prefix: Any, tree: Any, what: str) -> Any:
    """A tree of bools like the tree. A leaf of `prefix` stands for all below it."""
    leaves, _ = flatten(prefix)
    for leaf in leaves:
        if not isinstance(leaf, bool):
            raise TraceTypeError(f"{what}: expected bools, got {leaf!r}")
    try:
        return unflatten(flatten(tree)[1], optree.broadcast_prefix(prefix, tree, namespace=NAMESPACE))
    except ValueError as error:
        raise TraceError(f"{what}: {_without_arrays(error)}") from None


def _without_arrays(error: ValueError) -> str:
    """What optree says, whose end is the tree with all numbers in it."""
    said = re.sub(r"\s+", " ", str(error))
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]} ..."


_LONGEST = 200
