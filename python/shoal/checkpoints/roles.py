# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the arrays of an optimiser's state are of, wherever they stand in it.

`optimizer/1/0/mu/layers/3/wi` says where a first moment stands in a chain: behind a transform
that clips it is elsewhere than without. It is known by its parameter (`layers/3/wi`), its role (`mu`)
and the kind of state that it is a part of: that which has these roles, `count`, `mu` and `nu` being
Adam's. Lion's `mu` is another one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

# The fields of `shoal.train.TrainState`.
_OPTIMIZER, _PARAMS = "optimizer/", "params/"


class _Place(NamedTuple):
    """node: what leads to the state that the array is a part of. param: "" of a scalar."""

    node: tuple[str, ...]
    role: str
    param: str


class _Key(NamedTuple):
    kind: frozenset[str]
    role: str
    param: str


def paired(wanted: Collection[str], found: Collection[str]) -> dict[str, str]:
    """To each name of a tree that of the array of a checkpoint which is it, where there is one.

    Of several states of one kind, as of two groups of parameters, the first is the first; where
    there are more of them than there were each takes a count that there was once, and of others the
    one in the same place.
    """
    params = {name.removeprefix(_PARAMS) for name in (*wanted, *found) if name.startswith(_PARAMS)}
    mine, theirs = _by_key(wanted, params), _by_key(found, params)
    pairs = {name: name for name in wanted if name in found and not name.startswith(_OPTIMIZER)}
    for key, names in mine.items():
        others = theirs.get(key, [])
        if len(names) == len(others):
            pairs.update(zip(names, others))
        elif len(others) == 1 and not key.param:
            pairs.update(dict.fromkeys(names, others[0]))
        else:
            pairs.update({name: name for name in names if name in others})
    return pairs


def _by_key(names: Collection[str], params: Collection[str]) -> dict[_Key, list[str]]:
    """The optimiser's, in the order of their states."""
    places = {
        name: _place(name.removeprefix(_OPTIMIZER).split("/"), params)
        for name in names
        if name.startswith(_OPTIMIZER)
    }
    roles: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for place in places.values():
        roles[place.node].add(place.role)
    made: dict[_Key, list[str]] = defaultdict(list)
    for name, place in sorted(places.items(), key=lambda item: _natural(item[1].node)):
        made[_Key(frozenset(roles[place.node]), place.role, place.param)].append(name)
    return made


def _place(steps: Sequence[str], params: Collection[str]) -> _Place:
    """By the longest end that is a parameter's name."""
    for i in range(1, len(steps)):
        if "/".join(steps[i:]) in params:
            return _Place(tuple(steps[: i - 1]), steps[i - 1], "/".join(steps[i:]))
    return _Place(tuple(steps[:-1]), steps[-1], "")


def _natural(node: Sequence[str]) -> list[tuple[int, int, str]]:
    """An order in which 10 is behind 9."""
    return [(0, int(step), "") if step.isdigit() else (1, 0, step) for step in node]
