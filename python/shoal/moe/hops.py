# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One exchange of rows among devices, each of as many rows as there are: what is sent, forth and back.

Letters: the p = e t devices of a group, e parts with t copies, each part of X experts, or of whatever rows are for; T rows
that a device sends a copy of, R that it has room for. All arrays are one device's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from shoal.arrays import (
    Array, all_gather, argsort, axis_index, broadcast_to, cumsum, full, iota, minimum, one_hot, pad, ragged_all_to_all,
    stack, sum, take_rows, zeros,
)  # fmt: skip

__all__ = ["Hop", "Lists", "counts_of", "in_order"]


class Slices(NamedTuple):
    """Of each slice that a device sends, or gets: [p X] each, of devices and their experts.

    begin: its first row here, which is `there` with the device on the other side.
    """

    begin: Array
    rows: Array
    there: Array


class Lists(NamedTuple):
    """What a device sends, and what it gets."""

    sent: Slices
    come: Slices

    def stacked(self) -> Array:
        """[1, 6, p X]: as `of` reads them."""
        return stack([*self.sent, *self.come])[None]

    @staticmethod
    def of(lists: Array) -> Lists:
        """Of [1, 6, p X]."""
        sent, come = (Slices(*(lists[0, i + j] for j in range(3))) for i in (0, 3))
        return Lists(sent, come)


def in_order(numbers: Array, most: int) -> Array:
    """[1, R] of numbers [1, T]: where those of each stand, one after the other, the first R = min(T, most) of them."""
    order = argsort(numbers, 1)
    return order if most >= numbers.shape[1] else order[:, :most]


def counts_of(numbers: Array, count: int, most: int) -> Array:
    """[1, count] of numbers [1, T]: how many of each below `count` are `in_order`."""
    counts = sum(one_hot(numbers, count, "int32"), 1)
    if most >= numbers.shape[1]:
        return counts
    ends = minimum(cumsum(counts, 1), most)
    return ends - pad(ends[:, :-1], [(0, 0, 0), (1, 0, 0)], 0)


@dataclass(frozen=True)
class Hop:
    """An exchange. axes: of the group, those of copies last. bounded: rows that find no room stay where they are. mean: how
    many rows a device sends of each copy on average, of balanced ones; T where it is None."""

    axes: tuple[Any, ...]
    parts: int  # e
    copies: int  # t
    local: int  # X
    rows: int  # T
    room: int  # R
    bounded: bool
    mean: int | None = None

    @property
    def travels(self) -> int | None:
        """Rows that a device sends and gets on average; None where that is all that there may be."""
        return None if self.mean is None else min(self.room, self.copies * min(self.rows, self.mean))

    def lists(self, counts: Array) -> Lists:
        """By the rows that the device has for each expert, counts [1, e X].

        It gets rows in the order of its experts, and those of an expert in that of the devices: the last of
        these do not travel where there is no room. To each of the t devices that share an expert it sends the
        rows of another copy.
        """
        e, t, size = self.parts, self.copies, self.local
        everyone = all_gather(counts, self.axes)  # [p, e X]
        first = cumsum(everyone, 1, exclusive=True)
        of_expert = cumsum(sum(everyone, 0).reshape(e, size), 1, exclusive=True).reshape(1, e * size)
        place = of_expert + cumsum(everyone, 0, exclusive=True)
        if self.bounded:
            place = minimum(place, self.room)
            everyone = minimum(everyone, self.room - place)
        me = axis_index(self.axes, like=counts)
        mine = me // t

        def to(table: Array) -> Array:
            row = take_rows(table[None], me.reshape(1, 1)).reshape(e, 1, size)
            return broadcast_to(row, (e, t, size)).reshape(-1)

        def of(table: Array) -> Array:
            by_part = table.reshape(e * t, e, size).transpose(1, 0, 2)
            return take_rows(by_part[None], mine.reshape(1, 1)).reshape(-1)

        copy = (iota((e, t, size), 1, like=counts) * self.rows).reshape(-1)
        sent = Slices(to(first) + copy, to(everyone), to(place))
        return Lists(sent, Slices(of(place), of(everyone), of(first) + (me - mine * t) * self.rows))

    def forth(self, rows: Array, lists: Lists, fill: int = 0) -> Array:
        """[R, ...] of rows [1, T, ...]; `fill` where none came."""
        sent, come = lists
        rest = rows.shape[2:]
        repeated = broadcast_to(rows, (self.copies, self.rows, *rest)).reshape(-1, *rest)
        room = full((self.room, *rest), fill, rows.dtype, like=rows)
        return ragged_all_to_all(repeated, room, sent.begin, sent.rows, sent.there, come.rows, self.axes, self.travels)

    def back(self, made: Array, lists: Lists) -> Array:
        """[T, ...] of what was made of the R rows, zeros where none was sent: float32 sums of copies, and one as it came."""
        sent, come = lists
        home = zeros((self.copies * self.rows, *made.shape[1:]), made.dtype, like=made)
        home = ragged_all_to_all(made, home, come.begin, come.rows, come.there, sent.rows, self.axes, self.travels)
        if self.copies == 1:
            return home
        return sum(home.reshape(self.copies, self.rows, *made.shape[1:]).astype("float32"), 0)
