# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A published table beside what was simulated, and what it is held to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["FOLDER", "Bar", "Table", "off_by", "percent", "read", "within"]

# Configurations, with their sources and what had to be assumed.
FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Bar:
    """What a table is held to: how many of how many figures keep it."""

    what: str
    kept: int
    of: int
    needed: int | None = None

    @property
    def holds(self) -> bool:
        """Whether so many keep it as are needed, by default all."""
        return self.kept >= (self.of if self.needed is None else self.needed)

    def __str__(self) -> str:
        needed = "" if self.needed is None else f", {self.needed} needed"
        return f"{self.what}: {self.kept} of {self.of}{needed}: {'kept' if self.holds else 'MISSED'}"


@dataclass(frozen=True)
class Table:
    """Rows of cells, the first one the titles; notes for people."""

    title: str
    source: str
    assumed: str
    rows: list[list[str]]
    bars: list[Bar]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Markdown."""
        head, *rows = self.rows
        align = ["---", *["--:"] * (len(head) - 1)]
        lines = [f"| {' | '.join(row)} |" for row in (head, align, *rows)]
        parts = [f"## {self.title}", f"Published: {self.source}. Assumed: {self.assumed}.", "\n".join(lines)]
        parts += [*self.notes, "\n".join(f"* {bar}" for bar in self.bars)]
        return "\n\n".join(parts)


def read(name: str) -> dict[str, Any]:
    """Of this table."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def off_by(simulated: float, published: float) -> float:
    """Which share."""
    return simulated / published - 1


def percent(share: float) -> str:
    """With its sign."""
    return f"{100 * share:+.0f} %"


def within(offs: Iterable[float], share: float) -> int:
    """How many are no further off."""
    return sum(abs(each) <= share for each in offs)
