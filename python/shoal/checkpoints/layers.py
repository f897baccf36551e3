# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers one by one, and as stages of a pipeline: the same arrays under other names.

A model has its layers in a list, `layers/5/wi` [...]. As stages of a pipeline (`shoal.models.Stages`)
those behind the first few are in a list `stages` beside it, `stages/1/wi` [V, p, ...]: of N arrays of
stages the n-th has at (v, d) layer `outside` + (v p + d) N + n. Into how many stages layers are cut
is a fact about a layout, as it is where an array is cut: here a stage's rows are known by the name of
their layer, so that any number of stages loads what any other has saved.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

_ITEM = re.compile(r"((?:.*/)?)(layers|stages)/(\d+)/(.+)")
# V p of any pipeline. More is a list of somebody's own that is called so, too.
_MOST_STAGES = 4096

Shapes = Mapping[str, Sequence[int]]


class Part(NamedTuple):
    """A layer's rows of an array: layer is its name, place where they are in its first dimensions;
    of arrays that are no stages their own name, and () for all of it."""

    layer: str
    array: str
    place: tuple[int, ...]


def parts_of(shapes: Shapes) -> dict[str, list[Part]]:
    """Of each array of a tree the layers that it has.

    An array of stages that is not [V, p, ...], as an optimiser has in the place of nothing, is
    that of each of the layers.
    """
    sizes, size = _list_sizes(shapes), _stage_size(shapes)
    return {name: list(_parts(name, shape, sizes, size)) for name, shape in shapes.items()}


def _list_sizes(shapes: Shapes) -> Mapping[str, int]:
    """How many items each list of layers or of stages has, by its name."""
    sizes: dict[str, int] = defaultdict(int)
    for name in shapes:
        if item := _ITEM.fullmatch(name):
            whole = item[1] + item[2]
            sizes[whole] = max(sizes[whole], int(item[3]) + 1)
    return sizes


def _stage_size(shapes: Shapes) -> tuple[int, int] | None:
    """(V, p): what most arrays of stages begin with; None where there are none."""
    found: Counter[tuple[int, ...]] = Counter()
    for name, shape in shapes.items():
        item = _ITEM.fullmatch(name)
        if item and item[2] == "stages" and len(shape) >= 2:
            found[tuple(shape[:2])] += 1
    if not found:
        return None
    turns, devices = found.most_common(1)[0][0]
    return (turns, devices) if 0 < turns * devices <= _MOST_STAGES else None


def _parts(
    name: str, shape: Sequence[int], sizes: Mapping[str, int], size: tuple[int, int] | None
) -> Iterator[Part]:
    item = _ITEM.fullmatch(name)
    if size is None or item is None or item[2] != "stages":
        yield Part(name, name, ())
        return
    tree, number, rest = item[1], int(item[3]), item[4]
    outside, each = sizes.get(f"{tree}layers", 0), sizes[f"{tree}stages"]
    is_stacked = tuple(shape[:2]) == size
    for turn in range(size[0]):
        for device in range(size[1]):
            layer = outside + (turn * size[1] + device) * each + number
            place = (turn, device) if is_stacked else ()
            yield Part(f"{tree}layers/{layer}/{rest}", name, place)
