# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The dialects' enumerations, by the numbers that they have in attributes."""

from __future__ import annotations

# Of shoal: how a reduction combines.
REDUCE_KINDS = {"sum": 0, "prod": 1, "max": 2, "min": 3, "and": 4, "or": 5}

# Of arith: comparisons of integers (s: signed, u: unsigned) and of floats
# (o: false where either is NaN, u: true there).
_CMPI = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5}
_CMPI |= {"ult": 6, "ule": 7, "ugt": 8, "uge": 9}
_CMPF = {"oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "one": 6, "ord": 7, "une": 13, "uno": 14}


def kind_attribute(name: str) -> str:
    """A ReduceKind as an attribute."""
    return f"{REDUCE_KINDS[name]} : i32"


def comparison(predicate: str, *, is_float: bool) -> tuple[str, dict[str, str | None]]:
    """The op that compares so, and its attributes."""
    name, numbers = ("arith.cmpf", _CMPF) if is_float else ("arith.cmpi", _CMPI)
    return name, {"predicate": f"{numbers[predicate]} : i64"}
