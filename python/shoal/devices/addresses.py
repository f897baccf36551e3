# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which ranges of a stretch of addresses are free. Plain values, no memory."""

from __future__ import annotations

from bisect import bisect_left


class AddressSpace:
    """Addresses from 0 to `size`, all free at first.

    Ranges that are free and touch each other are one. Small ranges are taken from
    the front and large ones from the back: those that stay, as the losses of many
    steps, do not cut the space of the others into pieces.
    """

    SMALL = 64 << 10

    def __init__(self, size: int):
        # By address.
        self._begins = [0]
        self._ends = [size]

    def take(self, size: int) -> int | None:
        """The begin of a range of this size, which is not free any more; None if there is none."""
        places = range(len(self._begins))
        for place in places if size <= self.SMALL else reversed(places):
            begin, end = self._begins[place], self._ends[place]
            if end - begin < size:
                continue
            if end - begin == size:
                del self._begins[place], self._ends[place]
            elif size <= self.SMALL:
                self._begins[place] = begin + size
            else:
                begin = self._ends[place] = end - size
            return begin
        return None

    def give(self, begin: int, size: int) -> tuple[int, int]:
        """Makes a range free again. Returns begin and end of the free range that it is in now."""
        end = begin + size
        place = bisect_left(self._begins, begin)
        if place < len(self._begins) and self._begins[place] == end:
            end = self._ends[place]
            del self._begins[place], self._ends[place]
        if place > 0 and self._ends[place - 1] == begin:
            place -= 1
            begin = self._begins[place]
            self._ends[place] = end
        else:
            self._begins.insert(place, begin)
            self._ends.insert(place, end)
        return begin, end
