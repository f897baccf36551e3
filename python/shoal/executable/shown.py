# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What terminals and notebooks show of compiled programs."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = tuple[str, str]

# Rows that say most, in this order; others follow by their names.
_FIRST = ("devices", "collectives", "bytes_sent_per_device", "flops_per_device", "peak_bytes_per_device")
_FEW = 5  # entries of a list


class Stats(dict[str, Any]):
    """What `shoalc --stats` writes. Printed it is a table; the longer lists have their first entries there."""

    def __str__(self) -> str:
        rows = list(self._rows())
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)

    def _repr_html_(self) -> str:
        return _table(list(self._rows()))

    def _repr_pretty_(self, printer: Any, is_cycle: bool) -> None:
        printer.text(str(self))

    def _rows(self) -> Iterator[Row]:
        others = sorted(name for name in self if name not in _FIRST)
        for name in (*(name for name in _FIRST if name in self), *others):
            yield from _rows_of(name.replace("_", " "), self[name])


def _rows_of(name: str, value: Any) -> Iterator[Row]:
    if isinstance(value, Mapping):
        yield name, ", ".join(f"{key} {_number(part)}" for key, part in sorted(value.items())) or "none"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield name, "none" if not value else str(len(value))
        for entry in value[:_FEW]:
            yield "", _entry(entry)
        if len(value) > _FEW:
            yield "", "..."
    else:
        yield name, _number(value)


def _entry(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return str(entry)
    return "  ".join(f"{key} {_number(part)}" for key, part in entry.items() if part != "")


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


class Page(str):
    """A page of HTML, which a notebook shows in a frame."""

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self)}" width="100%" height="700" style="border: 0"></iframe>'


def html_of(title: str, tensors: Mapping[str, Sequence[Any]], stats: Stats) -> str:
    """A program's inputs, outputs, by what they are, and its numbers."""
    rows = [
        (f"{kind} {tensor.name}", f"{tensor.dtype}{list(tensor.shape)}, on a device {list(tensor.local_shape)}")
        for kind, listed in tensors.items()
        for tensor in listed
    ]
    return f"<b>{html.escape(title)}</b>{_table(rows)}{stats._repr_html_()}"


def _table(rows: Sequence[Row]) -> str:
    cells = "".join(
        f'<tr><td style="text-align: left">{html.escape(name)}</td>'
        f'<td style="text-align: left">{html.escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"
