# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which arrays of a source are a tree's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from shoal.checkpoints.layers import Part, parts_of
from shoal.checkpoints.names import spec_of
from shoal.checkpoints.regions import Region
from shoal.checkpoints.roles import paired
from shoal.checkpoints.sources import ArrayInfo, Source
from shoal.errors import InputError


class Copy(NamedTuple):
    """Rows at a place of a leaf's first dimensions, and those of an array which they are."""

    place: tuple[int, ...]
    part: Part


class Match(NamedTuple):
    """copies: of each leaf; None: nothing is there of it.
    missing, unknown: what the source has not, and what the tree has not."""

    copies: list[tuple[Copy, ...] | None]
    missing: list[str]
    unknown: list[str]


def match(source: Source, leaves: Sequence[tuple[str, Any]]) -> Match:
    """By names, layers (`layers`) and what arrays of an optimiser are of (`roles`).

    InputError where an array of a leaf is of another shape or type.
    """
    specs = {name: spec_of(leaf) for name, leaf in leaves}
    shapes = {name: shape for name, (shape, _) in specs.items()}
    found = {name: tuple(info.shape) for name, info in source.arrays.items()}
    if found == shapes:
        made = Match([(Copy((), Part(name, name, ())),) for name in shapes], [], [])
    else:
        made = _match(shapes, found)
    for (name, spec), copies in zip(specs.items(), made.copies):
        for copy in copies or ():
            _check(source, copy, name, *spec)
    return made


def _match(shapes: Mapping[str, Sequence[int]], found: Mapping[str, Sequence[int]]) -> Match:
    mine = parts_of(shapes)
    theirs = {part.layer: part for parts in parts_of(found).values() for part in parts}
    wanted = [part.layer for parts in mine.values() for part in parts]
    pairs = paired(wanted, theirs.keys())
    used = {theirs[other].array for other in pairs.values()}
    copies: list[tuple[Copy, ...] | None] = []
    missing: list[str] = []
    for name, parts in mine.items():
        absent = [part.layer for part in parts if part.layer not in pairs]
        missing += absent and (absent if len(absent) < len(parts) else [name])
        of_parts = (Copy(part.place, theirs[pairs[part.layer]]) for part in parts if not absent)
        copies.append(None if absent else tuple(dict.fromkeys(of_parts)))
    return Match(copies, missing, [name for name in found if name not in used])


def _check(
    source: Source, copy: Copy, name: str, shape: tuple[int, ...], dtype: np.dtype
) -> None:
    info = source.arrays[copy.part.array]
    own, wanted = tuple(info.shape)[len(copy.part.place) :], shape[len(copy.place) :]
    if (own, info.dtype) != (wanted, dtype):
        array = copy.part.array
        what = array if array == name else f"{name} ({copy.part.layer})"
        raise InputError(
            f"{source.path}: {what} is {info.dtype}{list(own)}, expected {dtype}{list(wanted)}"
        )


def read_copies(
    source: Source, name: str, copies: Sequence[Copy], region: Region, out: np.ndarray
) -> None:
    """Writes the rows of a leaf's region to `out`, which has their shape.

    InputError where stages have one array in common that layers have not.
    """
    whole = [copy for copy in copies if not copy.place]
    for copy in whole[1:]:
        others = np.empty_like(out)
        _read(source, copy, region, others)
        _read(source, whole[0], region, out)
        if not np.array_equal(out, others):
            raise InputError(
                f"{source.path}: {name} is one array of all stages, but {whole[0].part.layer} is another "
                f"than {copy.part.layer}"
            )
    for copy in whole[:1] or copies:
        _read(source, copy, region, out)


def _read(source: Source, copy: Copy, region: Region, out: np.ndarray) -> None:
    place, part = copy
    bounds = list(zip(place, region))
    if all(begin <= at < end for at, (begin, end) in bounds):
        rows = out[(*(at - begin for at, (begin, _) in bounds), ...)]
        box = (*((at, at + 1) for at in part.place), *region[len(place) :])
        source.read_into(part.array, box, rows[(*(None for _ in part.place), ...)])
