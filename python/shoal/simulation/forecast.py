# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a simulation tells, as data, text and a table for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.simulation.machines import Machine

__all__ = ["Forecast", "Row", "bytes_text", "seconds_text"]

# How many lines a table has.
_LINES = 20


@dataclass(frozen=True)
class Row:
    """A kernel or a collective of the step, in program order.

    name: "all_to_all", "einsum", "kernel", ... axes: of a collective, as '{"ep"}'. seconds: of all its runs.
    bound: what it takes so long for: "operations", "memory", "launch", "latency" or "link"; of the last two, level
    names the level of the machine. bytes: of one run, read and written, or of a collective what a device sends.
    place: "file:line:column"; layer: as `shoal.named_scope` and the models name it.
    shape: batch, m, n and k of a product of this type.
    """

    name: str
    seconds: float
    runs: int
    bytes: int
    bound: str
    level: str | None = None
    axes: str | None = None
    place: str = ""
    layer: str = ""
    start: float = 0.0
    type: str | None = None
    shape: tuple[int, int, int, int] | None = None
    is_async: bool = False

    @property
    def kind(self) -> str:
        """The name, of a collective with its axes."""
        return self.name if self.axes is None else f"{self.name} over {self.axes}"

    @property
    def is_collective(self) -> bool:
        """Whether it sends."""
        return self.axes is not None

    @property
    def bound_text(self) -> str:
        """"link of rails"."""
        return self.bound if self.level is None else f"{self.bound} of {self.level}"


def seconds_text(seconds: float) -> str:
    """In the unit that leaves one to three digits in front of the point."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.2f} {unit}"
    return f"{seconds / 1e-9:.1f} ns"


def bytes_text(count: float) -> str:
    """The same of bytes."""
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= scale:
            return f"{count / scale:.2f} {unit}"
    return f"{count:.0f} bytes"


def _row(made: Mapping[str, Any]) -> Row:
    known = {name: made[name] for name in Row.__dataclass_fields__ if name in made}
    shape = tuple(made["shape"]) if "shape" in made else None
    return Row(**{**known, "seconds": made["seconds"] * made["runs"], "shape": shape})


@dataclass(frozen=True)
class Forecast:
    """A step on a machine, simulated. Seconds, bytes of a device, shares.

    exposed: in which a collective runs and nothing computes. waiting: for the host to launch.
    memory: bytes that a device holds at most. mfu: the share of the peak that the program's products are.
    unknown_loops: places of loops that count once, as nobody knows how often they run.
    held: in program order, at each place where the life of a buffer begins or ends, the layer of the op there, and bytes of
      buffers that are live before and behind it.
    """

    machine: Machine
    devices: int
    seconds: float
    exposed: float
    waiting: float
    memory: int
    mfu: float
    rows: tuple[Row, ...] = field(repr=False)
    unknown_loops: tuple[str, ...] = ()
    held: tuple[tuple[str, int], ...] = field(default=(), repr=False)

    @staticmethod
    def of(made: Mapping[str, Any], machine: Machine) -> Forecast:
        """Of the compiler's JSON."""
        return Forecast(
            machine, made["devices"], made["step_seconds"], made["exposed_seconds"], made["waiting_seconds"],
            made["peak_bytes"], made["mfu"], tuple(map(_row, made["tasks"])), tuple(made["unknown_loops"]),
            tuple((layer, bytes) for layer, bytes in made["held"]),
        )  # fmt: skip

    @property
    def fits(self) -> bool:
        """Whether a device has as much memory."""
        return self.memory <= self.machine.memory

    def by_kind(self) -> dict[str, float]:
        """Seconds of kernels and collectives by their kind, most first."""
        return _sums((row.kind, row.seconds) for row in self.rows)

    def by_bound(self) -> dict[str, float]:
        """Seconds by what bounds them, most first."""
        return _sums((row.bound_text, row.seconds) for row in self.rows)

    def lines(self) -> list[tuple[Row, float, int]]:
        """Of each line of the program and kind its first row, seconds and runs; most first."""
        found: dict[tuple[str, str, str], list[Any]] = {}
        for row in self.rows:
            line = found.setdefault((row.place, row.layer, row.kind), [row, 0.0, 0])
            line[1] += row.seconds
            line[2] += row.runs
        return sorted((tuple(line) for line in found.values()), key=lambda line: -line[1])

    def _head(self) -> list[str]:
        fits = "" if self.fits else ": it does not fit"
        lines = [
            f"{self.machine.name}, {self.devices} devices: a step takes {seconds_text(self.seconds)} (simulated)",
            f"  exposed communication {seconds_text(self.exposed)}, {self._percent(self.exposed)}",
            f"  memory {bytes_text(self.memory)} of {bytes_text(self.machine.memory)} a device{fits}",
        ]
        if self.mfu:
            lines.insert(2, f"  products at {100 * self.mfu:.1f} % of the peak (MFU)")
        if self.waiting:
            lines.insert(2, f"  the device waits {seconds_text(self.waiting)}, {self._percent(self.waiting)}, for the host")
        return [*lines, *(f"  the loop at {place or 'an unknown place'} counts once" for place in self.unknown_loops)]

    def _percent(self, seconds: float) -> str:
        return f"{round(100 * seconds / self.seconds) if self.seconds else 0} %"

    def _table(self) -> list[tuple[str, ...]]:
        return [
            (seconds_text(seconds), self._percent(seconds), f"{runs}x", row.kind, row.bound_text, row.layer or row.place)
            for row, seconds, runs in self.lines()[:_LINES]
        ]

    def __str__(self) -> str:
        lines = self._head()
        for title, sums in (("by kind", self.by_kind()), ("by what bounds it", self.by_bound())):
            lines += ["", title, *(f"{seconds_text(s):>12} {self._percent(s):>6}  {name}" for name, s in sums.items())]
        lines += ["", "the dearest lines"]
        for seconds, share, runs, kind, bound, place in self._table():
            lines.append(f"{seconds:>12} {share:>6} {runs:>6}  {kind[:24]:24} {bound[:20]:20} {place[-25:]}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = "<br>".join(map(html.escape, self._head()))
        titles = ("seconds", "share", "runs", "what", "bound by", "where")
        rows = [f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in self._table()]
        return f"<p>{head}</p><table><tr>{''.join(f'<th>{t}</th>' for t in titles)}</tr>{''.join(rows)}</table>"


def _sums(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for name, seconds in pairs:
        sums[name] = sums.get(name, 0.0) + seconds
    return dict(sorted(sums.items(), key=lambda pair: (-pair[1], pair[0])))
