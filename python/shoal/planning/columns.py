# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many mappings of one job at once: sizes as columns, and what they have in common made once.

A space has tens of thousands of mappings and a few hundred of whatever is dear to make. So that is made for each class of
mappings that are equal in what it depends on and laid out as a column, and what is left, sums and products of columns, is
arithmetic of arrays: the same lines as for one mapping (`shoal.planning.schedule`, `course`, `memory`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

import numpy as np

from shoal.planning.mapping import Mapping, Sizes

__all__ = ["Column", "Space", "column_of"]

# Always arrays, and fields of mappings that properties of theirs depend on.
_SIZES = ("tp", "cp", "ep", "etp", "pp", "stages", "micro_batch")
_FROM = {"stage_devices": ("devices", "pp"), "stored": ("zero",)}


# The values there are, and the place of each mapping's among them.
Column = tuple[Sequence[Any], np.ndarray]


def column_of(each: Sequence[Any]) -> Column:
    """Of each mapping's value."""
    places = {value: place for place, value in enumerate(dict.fromkeys(each))}
    return tuple(places), np.array([places[value] for value in each], np.int64)


class Space(Sizes, Sequence[Mapping]):
    """A table of mappings, each made when it is asked for. Fields are attributes: sizes are arrays of a number for each
    mapping, and others, which are the job's, what they are of one."""

    def __init__(self, fields: dict[str, Any], columns: dict[str, Column]):
        """fields: that all have. columns: of all others."""
        self._fields, self._columns = fields, columns
        self._count = len(next(iter(columns.values()))[1])
        for name, value in fields.items():
            setattr(self, name, value)
        for name in _SIZES:
            values, places = columns[name]
            setattr(self, name, np.array(values, np.int64)[places])

    @classmethod
    def of(cls, mappings: Sequence[Mapping]) -> Space:
        """Of a job's mappings."""
        fields, columns = {}, {}
        for field in dataclasses.fields(Mapping):
            each = [getattr(mapping, field.name) for mapping in mappings]
            column = column_of(each)
            if len(column[0]) > 1 or field.name in _SIZES:
                columns[field.name] = column
            else:
                fields[field.name] = each[0]
        return cls(fields, columns)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, number: int) -> Mapping: ...
    @overload
    def __getitem__(self, number: slice) -> Space: ...
    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return self.take(np.arange(self._count)[number])
        own = {name: values[places[number]] for name, (values, places) in self._columns.items()}
        return Mapping.of({**self._fields, **own})

    def take(self, numbers: np.ndarray) -> Space:
        """Those of these numbers."""
        return Space(self._fields, {name: (values, places[numbers]) for name, (values, places) in self._columns.items()})

    def classes(self, names: Iterable[str]) -> tuple[list[int], np.ndarray]:
        """Of mappings that are equal in fields or properties of these names the number of the first one, and the class that
        each is in."""
        keys = np.zeros(self._count, np.int64)
        for name in dict.fromkeys(field for name in names for field in _FROM.get(name, (name,))):
            if name in self._columns:
                values, places = self._columns[name]
                keys = keys * len(values) + places
        _, firsts, classes = np.unique(keys, return_index=True, return_inverse=True)
        return firsts.tolist(), classes

    def column(self, names: Iterable[str], value: Callable[[Mapping], Any]) -> np.ndarray:
        """[numbers ..., mapping] of what `value` gives of each, a number or nested sequences of numbers: of mappings that
        are equal in fields or properties of these names that of the first one."""
        firsts, classes = self.classes(names)
        return np.moveaxis(np.array([value(self[number]) for number in firsts], float)[classes], 0, -1)
