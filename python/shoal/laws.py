# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What values may be: of arguments, and of fields of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from sys import float_info
from typing import Any

from shoal.errors import InputError

__all__ = [
    "ANYTHING", "BASE", "CALLABLE", "COUNT", "FLAG", "MAGNITUDE", "NOT_NEGATIVE", "NUMBER", "PART", "PATH", "POSITIVE",
    "SIZE", "TABLE", "TEXT", "Law", "check_arguments", "integer", "instance_of", "list_of", "or_none", "shown",
]  # fmt: skip

_LARGEST = float_info.max


@dataclass(frozen=True)
class Law:
    """What a value may be. what: in words, behind "expected"."""

    what: str
    holds: Callable[[Any], bool]


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    """One that a float can be: JSON has integers of any size, and readers of it NaN and infinity."""
    return isinstance(value, Real) and not isinstance(value, bool) and -_LARGEST <= value <= _LARGEST


def integer(low: int, high: int) -> Law:
    """From low to high."""
    return Law(f"an integer from {low} to {high}", lambda x: _is_integer(x) and low <= x <= high)


def list_of(law: Law) -> Law:
    """A list or tuple of what the law says."""
    return Law(f"a list, each of it {law.what}", lambda x: isinstance(x, (list, tuple)) and all(map(law.holds, x)))


def or_none(law: Law) -> Law:
    """None, too."""
    return Law(f"{law.what} or None", lambda x: x is None or law.holds(x))


def instance_of(*types: type, what: str) -> Law:
    """Of one of the classes."""
    return Law(what, lambda x: isinstance(x, types))


SIZE, COUNT = integer(1, 2**31 - 1), integer(0, 2**31 - 1)
POSITIVE = Law("a positive number", lambda x: _is_number(x) and x > 0)
NOT_NEGATIVE = Law("a number of at least 0", lambda x: _is_number(x) and x >= 0)
BASE = Law("a number above 1", lambda x: _is_number(x) and x > 1)
NUMBER = Law("a number", _is_number)
MAGNITUDE = Law("a number from 0 to 1000", lambda x: _is_number(x) and 0 <= x <= 1000)
PART = Law("a number of at least 0 and below 1", lambda x: _is_number(x) and 0 <= x < 1)
FLAG = Law("true or false", lambda x: isinstance(x, bool))
TEXT = instance_of(str, what="a text")
TABLE = instance_of(Mapping, what="an object")
PATH = instance_of(str, os.PathLike, what="a path")
CALLABLE = Law("a function", callable)
ANYTHING = Law("anything", lambda x: True)


def check_arguments(function: str, /, **given: tuple[Any, Law]) -> None:
    """InputError names the first argument of a function that is not as its law has it."""
    for name, (value, law) in given.items():
        if not law.holds(value):
            raise InputError(f"{function}: {name}: expected {law.what}, got {shown(value)}")


def shown(value: Any) -> str:
    """At most a line of it; of what is no number and no text its type."""
    if not isinstance(value, (str, Real, list, tuple, dict, type(None))):
        return type(value).__name__
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
