# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which function imports which op: `@imports("stablehlo.add")` enters it.

Custom calls are ops of their own, by target: `stablehlo.custom_call @Sharding`.
An importer gets the `Importer` and the op and returns the op's results as
values of the Shoal program: a list, or a single value for a single result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir

from shoal.jax.attributes import string

OpImporter = Callable[..., Any]


_importers: dict[str, OpImporter] = {}


def imports(*names: str) -> Callable[[OpImporter], OpImporter]:
    """Enters the decorated function as the importer of these ops."""

    def enter(function: OpImporter) -> OpImporter:
        for name in names:
            if name in _importers:
                raise AssertionError(f"{name} has two importers")
            _importers[name] = function
        return function

    return enter


def op_name(op: ir.Operation) -> str:
    """The name by which an op is registered."""
    if op.name == "stablehlo.custom_call":
        return f"{op.name} @{string(op, 'call_target_name')}"
    return op.name


def find_importer(op: ir.Operation) -> OpImporter | None:
    """The importer of an op, once `shoal.jax.ops` is imported."""
    return _importers.get(op_name(op))


def names() -> list[str]:
    """The names of all ops that were entered, sorted."""
    return sorted(_importers)
