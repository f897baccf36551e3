# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`shoal diff`: what two partitionings of a program send, compute and hold differently."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, ShoalError
from shoal.executable.compiler import statistics_of_text

__all__ = ["Difference", "difference_of", "main"]

_EPILOG = """A and B are programs, which are compiled as they stand, or what --stats wrote of them. Collectives are the same where
they are of one kind, over the same axes, for the same operand of the same op, on whatever line it stands.
The exit code is 0 where nothing differs, 1 where something does, 2 where a file cannot be compared.
"""
_Collective = dict[str, Any]
_PLACE = re.compile(r" at \S+:\d+:\d+")
_TOTALS = {
    "bytes_sent_per_device": "bytes sent by a device",
    "flops_per_device": "operations of a device",
    "peak_bytes_per_device": "bytes that a device holds",
}


@dataclass(frozen=True)
class Difference:
    """Between the statistics of two programs, as `shoalc --stats` writes them.

    totals: by what is counted, the number of each. only: the collectives that one has and the other has not, in program
    order. resized: pairs of the same collective with other bytes or runs. same: how many do not differ.
    """

    totals: dict[str, tuple[float, float]]
    only: tuple[list[_Collective], list[_Collective]]
    resized: list[tuple[_Collective, _Collective]]
    same: int

    def __bool__(self) -> bool:
        """Whether something differs."""
        return bool(any(self.only) or self.resized or any(a != b for a, b in self.totals.values()))


def difference_of(a: dict[str, Any], b: dict[str, Any]) -> Difference:
    """InputError where one of them is no statistics."""
    lists = [_collectives(each) for each in (a, b)]
    exact, rest = _matched(lists, lambda one: (*_key(one), one["bytes"], one["runs"]))
    resized, only = _matched(rest, _key)
    return Difference(dict(_totals(a, b)), only, resized, len(exact))


def _collectives(statistics: dict[str, Any]) -> list[_Collective]:
    found = statistics.get("collective_list") if isinstance(statistics, dict) else None
    if not isinstance(found, list) or not all(key in statistics for key in _TOTALS):
        raise InputError("diff: expected what --stats writes, with collective_list and totals of a device")
    return found


def _key(collective: _Collective) -> tuple[str, str, str]:
    """What it is, wherever the line stands."""
    return collective["kind"], collective["axes"], _PLACE.sub("", collective["reason"] or collective["loc"])


def _matched(
    lists: Sequence[list[_Collective]], key: Callable[[_Collective], Hashable]
) -> tuple[list[tuple[_Collective, _Collective]], tuple[list[_Collective], list[_Collective]]]:
    """Pairs with equal keys, in order, and what is left of both."""
    waiting: defaultdict[Hashable, deque[_Collective]] = defaultdict(deque)
    for one in lists[1]:
        waiting[key(one)].append(one)
    pairs, left = [], []
    for one in lists[0]:
        if same := waiting[key(one)]:
            pairs.append((one, same.popleft()))
        else:
            left.append(one)
    others = {id(one) for queue in waiting.values() for one in queue}
    return pairs, (left, [one for one in lists[1] if id(one) in others])


def _totals(a: dict[str, Any], b: dict[str, Any]) -> Iterator[tuple[str, tuple[float, float]]]:
    for key, text in _TOTALS.items():
        values = [each[key] for each in (a, b)]
        yield text, tuple(sum(value.values()) if isinstance(value, dict) else value for value in values)
    certificates = [each.get("certificate") for each in (a, b)]
    if all(certificates) and certificates[0]["unit"] == certificates[1]["unit"]:
        yield f"cost of shardings, {certificates[0]['unit']}", tuple(each["cost"] for each in certificates)


def _bytes_of(collective: _Collective) -> int:
    return collective["bytes"] * collective["runs"]


def _size_text(collective: _Collective) -> str:
    times = f", {collective['runs']:,} times" if collective["runs"] != 1 else ""
    return f"{collective['bytes']:,} bytes{times}"


def _lines(difference: Difference, names: Sequence[str]) -> Iterator[str]:
    width = max(map(len, difference.totals))
    column = max(16, *map(len, names))
    yield f"{'':{width}} {names[0]:>{column}} {names[1]:>{column}}"
    for text, (a, b) in difference.totals.items():
        change = "the same" if a == b else f"{b - a:+,.0f}"
        yield f"{text:{width}} {a:>{column},.0f} {b:>{column},.0f} {change:>16}"
    for name, collectives in zip(names, difference.only):
        if collectives:
            yield f"only {name} has"
        for one in sorted(collectives, key=_bytes_of, reverse=True):
            yield f"  {one['kind']} over {one['axes']}, {_size_text(one)}, at {one['loc']}"
            yield f"      {one['reason']}"
    if difference.resized:
        yield "of another size are"
    for a, b in sorted(difference.resized, key=lambda pair: -abs(_bytes_of(pair[1]) - _bytes_of(pair[0]))):
        yield f"  {a['kind']} over {a['axes']}, {_size_text(a)} -> {_size_text(b)}, at {b['loc']}"
        yield f"      {b['reason']}"
    yield f"collectives that do not differ: {difference.same}"


def _read(path: str) -> dict[str, Any]:
    """Statistics, or those of a program that is compiled for it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"diff: cannot read {path}: {error}") from None
    if not text.lstrip().startswith("{"):
        return statistics_of_text(text, source=path)
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"diff: {path} is no JSON: {error}") from None


def main(words: Sequence[str]) -> int:
    """The status of a process."""
    parser = argparse.ArgumentParser(
        prog="shoal diff", description="What do two partitionings of a program send, compute and hold differently?",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("files", metavar="A B", nargs=2)
    files = parser.parse_args(words).files
    try:
        difference = difference_of(*map(_read, files))
    except ShoalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    names = [Path(file).name for file in files]
    print("\n".join(_lines(difference, ["A", "B"] if names[0] == names[1] else names)))
    return 1 if difference else 0
