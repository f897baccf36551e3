# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which function imports which op: `@imports("stablehlo.add")` enters it.

Custom calls are ops of their own, by target: `stablehlo.custom_call @Sharding`.
An importer gets the `Importer` and the op and returns the op's results as
values of the Shoal program: a list, or a single value for a single result.

What an importer was written for are real numbers. It says with its name how the op is one of
complex numbers, `of_complex`; `shoal.jax.halves` makes it that before anything is imported. Whether
the op `moves` elements and computes none says how it is one of elements that programs have as their
codes alone, as `shoal.jax.codes` has it.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir

from shoal.jax.attributes import string

OpImporter = Callable[..., Any]


class OfComplex(enum.Flag):
    """What an op does with complex numbers, in terms of their real and imaginary halves.

    EACH: to either half what it does to real numbers, as who moves elements does, and who adds.
    BOTH: its operands, its results and its regions' arguments are lists, in which a complex value
      stands as two real ones.
    PRODUCT: it multiplies its two operands, and is linear in each.
    An op with EACH and BOTH is done to each half where its region is, too.
    """

    EACH = enum.auto()
    BOTH = enum.auto()
    PRODUCT = enum.auto()


_importers: dict[str, OpImporter] = {}
_of_complex: dict[str, OfComplex] = {}
_moves: set[str] = set()
_reasons: dict[str, str] = {}


def imports(
    *names: str, of_complex: OfComplex = OfComplex(0), moves: bool = False
) -> Callable[[OpImporter], OpImporter]:
    """Enters the decorated function as the importer of these ops."""

    def enter(function: OpImporter) -> OpImporter:
        for name in names:
            if name in _importers:
                raise AssertionError(f"{name} has two importers")
            _importers[name] = function
            _of_complex[name] = of_complex
            if moves:
                _moves.add(name)
        return function

    return enter


def refuses(*names: str, reason: str) -> None:
    """Enters why there is no importer of these ops."""
    _reasons.update(dict.fromkeys(names, reason))


def reason_of(op: ir.Operation) -> str:
    """Why an op without an importer has none; "" where nothing is known of it."""
    return _reasons.get(op_name(op), "")


def refused() -> list[str]:
    """The names of the ops that are refused for a reason of their own, sorted."""
    return sorted(_reasons)


def op_name(op: ir.Operation) -> str:
    """The name by which an op is registered."""
    if op.name == "stablehlo.custom_call":
        return f"{op.name} @{string(op, 'call_target_name')}"
    return op.name


def find_importer(op: ir.Operation) -> OpImporter | None:
    """The importer of an op, once `shoal.jax.ops` is imported."""
    return _importers.get(op_name(op))


def of_complex(op: ir.Operation) -> OfComplex:
    """How the op's importer says it is one of complex numbers; nothing where it is none."""
    return _of_complex.get(op_name(op), OfComplex(0))


def moves(op: ir.Operation) -> bool:
    """Whether the op gives elements of its operands as they are, whatever they mean."""
    return op_name(op) in _moves


def names() -> list[str]:
    """The names of all ops that were entered, sorted."""
    return sorted(_importers)
