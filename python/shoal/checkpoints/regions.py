# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boxes of rows: of arrays, of pieces of them, and of what one has of the other."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator, Sequence

# (begin, end) in each dimension.
Region = tuple[tuple[int, int], ...]
# In each dimension where an array is cut, from 0 to its size.
Cuts = tuple[tuple[int, ...], ...]


def whole(shape: Sequence[int]) -> Region:
    return tuple((0, size) for size in shape)


def region_of(slices: Sequence[slice]) -> Region:
    return tuple((dim.start, dim.stop) for dim in slices)


def slices_of(region: Region) -> tuple[slice, ...]:
    return tuple(slice(*dim) for dim in region)


def shape_of(region: Region) -> tuple[int, ...]:
    return tuple(end - begin for begin, end in region)


def size_of(region: Region) -> int:
    return math.prod(shape_of(region))


def within(region: Region, part: Region) -> Region:
    """A region of an array as one of a part that has it."""
    return tuple((b - base, e - base) for (b, e), (base, _) in zip(region, part))


def cells(cuts: Cuts) -> list[Region]:
    """The pieces of an array, row-major."""
    return list(itertools.product(*[list(itertools.pairwise(dim)) for dim in cuts]))


def meeting(cuts: Cuts, region: Region) -> Iterator[tuple[int, Region, Region]]:
    """The pieces that have rows of a region: (number, piece, rows of both)."""
    counts = [len(dim) - 1 for dim in cuts]
    ranges = []
    for dim, (begin, end) in zip(cuts, region):
        if begin >= end:
            return
        ranges.append(range(bisect.bisect_right(dim, begin) - 1, bisect.bisect_left(dim, end)))
    for index in itertools.product(*ranges):
        number = 0
        for i, count in zip(index, counts):
            number = number * count + i
        piece = tuple((dim[i], dim[i + 1]) for dim, i in zip(cuts, index))
        rows = tuple(
            (max(b, begin), min(e, end)) for (b, e), (begin, end) in zip(piece, region)
        )
        yield number, piece, rows


def text_of(region: Region) -> str:
    """[0:4,0:256]"""
    return "[" + ",".join(f"{begin}:{end}" for begin, end in region) + "]"
