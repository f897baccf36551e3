# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many mappings of one job at once: sizes as columns, and what they have in common made once.

A space has tens of thousands of mappings and a few hundred of whatever is dear to make. So that is made for each key that it
depends on and laid out as a column, and what is left, sums and products of columns, is arithmetic of arrays: the same lines
as for one mapping (`shoal.planning.schedule`, `course`, `memory`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from shoal.planning.mapping import Mapping

__all__ = ["Columns", "column_of"]

# Fields of mappings that are the job's, and hold for all of them.
_OF_JOB = ("schedule", "sums_beside", "gathers_beside", "exchange_beside", "zero", "mtp", "whole_at_start")
_SIZES = attrgetter("pp", "stages", "micro_batches")


class Columns:
    """What steps and memory depend on beside layers. `pp`, `stages` and `micro_batches` are arrays of a number for each
    mapping, fields of the job as those of a mapping."""

    pp: np.ndarray
    stages: np.ndarray
    micro_batches: np.ndarray

    def __init__(self, mappings: Sequence[Mapping]):
        self.pp, self.stages, self.micro_batches = np.array(list(map(_SIZES, mappings))).T
        for name in _OF_JOB:
            setattr(self, name, getattr(mappings[0], name))


def column_of(
    mappings: Sequence[Mapping], key: Callable[[Mapping], Hashable], value: Callable[[Mapping], Any]
) -> np.ndarray:
    """[numbers ..., mapping] of what `value` gives of each, a number or nested sequences of numbers: of mappings with equal
    keys that of the first one."""
    places: dict[Hashable, int] = {}
    values, rows = [], []
    for mapping in mappings:
        found = key(mapping)
        place = places.get(found)
        if place is None:
            place = places[found] = len(values)
            values.append(value(mapping))
        rows.append(place)
    return np.moveaxis(np.array(values, float)[rows], 0, -1)
