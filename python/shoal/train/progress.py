# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a run shows while it lasts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

# Of the scalars.
_MOST_SHOWN = 6


class Progress:
    """A bar of tqdm where that is there and stderr a terminal; else a line on stdout now and then."""

    def __init__(self, begin: int, steps: int):
        self._steps = steps
        self._bar = _bar(begin, steps)

    def advance(self) -> None:
        """A step is done."""
        if self._bar is not None:
            self._bar.update()

    def show(self, step: int, values: Mapping[str, Any]) -> None:
        scalars = [(name, value) for name, value in values.items() if not isinstance(value, list)]
        texts = {name: text(name, value) for name, value in scalars[:_MOST_SHOWN]}
        if self._bar is not None:
            self._bar.set_postfix(texts, refresh=False)
        else:
            parts = "  ".join(f"{name} {value}" for name, value in texts.items())
            print(f"step {step:>{len(str(self._steps))}}/{self._steps}  {parts}", flush=True)

    def say(self, message: str) -> None:
        """A line of its own."""
        if self._bar is not None:
            self._bar.write(message)
        else:
            print(message, flush=True)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar(begin: int, steps: int) -> Any:
    if not sys.stderr.isatty():
        return None
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(initial=begin, total=steps, unit="step", dynamic_ncols=True)


def text(name: str, value: Any) -> str:
    """A number in few digits."""
    if name.endswith("/s"):
        return f"{value:,.0f}"
    return f"{value:.4g}" if name != "loss" else f"{value:.4f}"
