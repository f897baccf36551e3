# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which results are the next call's arguments, by their form: they lie as these do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import optree

from shoal.frontend.pytrees import NAMESPACE, flatten

__all__ = ["followed"]

# A tree's structure, with the shape and type of each leaf.
Form = tuple[optree.PyTreeSpec, tuple[Any, ...]]


class _Argument(NamedTuple):
    """One of a call's, and which of its arrays it has."""

    form: Form
    arrays: range
    is_donated: bool


def followed(result: Any, arguments: Sequence[Any], specs: Sequence[Any], donated: Sequence[bool]) -> list[int | None]:
    """Of each leaf of a result, the array of the arguments that it comes back as; None where it is none.

    A tree, alone or within the result, follows the argument of its structure, shapes and types: a donated one before
    others, and one that nothing follows before one that something does. A single array follows a donated one alone, as
    arrays of one shape may be anything.
    arguments: trees; specs: the shapes and types of their leaves, one behind the other; donated: () of none.
    """
    known = list(_arguments(arguments, specs, donated or [False] * len(specs)))
    followers = [0] * len(known)
    found: list[int | None] = []

    def look(tree: Any) -> None:
        leaves, spec = flatten(tree)
        number = _argument_of((spec, tuple(map(_type_of, leaves))), known, followers)
        if number is not None:
            followers[number] += 1
            found.extend(known[number].arrays)
        elif spec.is_leaf(strict=False):
            found.extend([None] * len(leaves))
        else:
            for child in optree.tree_flatten_one_level(tree, namespace=NAMESPACE).children:
                look(child)

    look(result)
    return found


def _arguments(trees: Sequence[Any], specs: Sequence[Any], donated: Sequence[bool]) -> Iterator[_Argument]:
    begin = 0
    for tree in trees:
        leaves, structure = flatten(tree)
        arrays = range(begin, begin + len(leaves))
        begin = arrays.stop
        if leaves:
            types = tuple(_type_of(specs[number]) for number in arrays)
            yield _Argument((structure, types), arrays, all(donated[number] for number in arrays))


def _argument_of(form: Form, known: Sequence[_Argument], followers: Sequence[int]) -> int | None:
    is_tree = not form[0].is_leaf()
    fitting = [
        number
        for number, argument in enumerate(known)
        if argument.form == form and (is_tree or (argument.is_donated and not followers[number]))
    ]
    return min(fitting, key=lambda n: (not known[n].is_donated, followers[n]), default=None)


def _type_of(leaf: Any) -> tuple[Any, Any] | None:
    """None of a number, which is no argument that came back."""
    return (tuple(leaf.shape), leaf.dtype) if hasattr(leaf, "shape") else None
