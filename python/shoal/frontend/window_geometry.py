# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where windows lie: strides, padding, dilation."""

from __future__ import annotations

from collections.abc import Sequence

from shoal import ir
from shoal.frontend.checks import as_int, check

# "SAME", "VALID", or the rows to add before and behind each dimension.
Padding = str | Sequence[tuple[int, int]]
# An entry for each dimension, or one for all.
Sizes = int | Sequence[int]


class Window:
    """Where windows lie: an entry per dimension of each list."""

    def __init__(
        self,
        what: str,
        sizes: Sequence[int],
        window: Sequence[int],
        strides: Sizes,
        padding: Padding,
        base_dilation: Sizes,
        window_dilation: Sizes,
    ):
        self.window = [as_int(size, f"{what}: window") for size in window]
        rank = len(self.window)
        self.strides = _spread(strides, rank, f"{what}: strides")
        self.base_dilation = _spread(base_dilation, rank, f"{what}: base_dilation")
        self.window_dilation = _spread(window_dilation, rank, f"{what}: window_dilation")
        check(all(size >= 1 for size in self.window), f"{what}: a window of {self.window}")
        # Sizes with the holes that dilation makes.
        self._sizes = [_dilated(n, d) for n, d in zip(sizes, self.base_dilation)]
        self._reach = [_dilated(n, d) for n, d in zip(self.window, self.window_dilation)]
        self.low, self.high = self._padding(padding, what)

    def _padding(self, padding: Padding, what: str) -> tuple[list[int], list[int]]:
        rank = len(self.window)
        if isinstance(padding, str):
            check(padding in ("SAME", "VALID"), f'{what}: padding "{padding}"')
            if padding == "VALID":
                return [0] * rank, [0] * rank
            lacking = [
                max(0, (-(-size // stride) - 1) * stride + reach - size)
                for size, stride, reach in zip(self._sizes, self.strides, self._reach)
            ]
            return [rows // 2 for rows in lacking], [rows - rows // 2 for rows in lacking]
        check(
            len(padding) == rank and all(len(pair) == 2 for pair in padding),
            f"{what}: expected {rank} pairs of padding, got {padding}",
        )
        pairs = [[as_int(rows, f"{what}: padding") for rows in pair] for pair in padding]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def results(self) -> list[int]:
        """The number of windows in each dimension."""
        room = [
            size + low + high - reach
            for size, low, high, reach in zip(self._sizes, self.low, self.high, self._reach)
        ]
        return [rows // stride + 1 if rows >= 0 else 0 for rows, stride in zip(room, self.strides)]

    def attributes(self) -> dict[str, str]:
        names = ("strides", "low", "high", "base_dilation", "window_dilation")
        return {name: ir.i64s(getattr(self, name)) for name in names}


def _spread(sizes: Sizes, rank: int, what: str) -> list[int]:
    listed = [as_int(s, what) for s in (sizes if isinstance(sizes, Sequence) else [sizes] * rank)]
    check(
        len(listed) == rank and all(size >= 1 for size in listed),
        f"{what}: expected {rank} positive integers, got {listed}",
    )
    return listed


def _dilated(size: int, dilation: int) -> int:
    return max(0, (size - 1) * dilation + 1)
