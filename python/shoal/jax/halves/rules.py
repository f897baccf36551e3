# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which rule makes which op of complex numbers one of real ones: `@rule("stablehlo.real")`.

A rule gets the Rewriter and the op, and returns a value for each result, a Pair for a complex
one; None where what the op's importer says of it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jaxlib.mlir import ir

from shoal.jax.registry import op_name

Rule = Callable[[Any, ir.Operation], "list[Any] | None"]

_rules: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Enters the decorated function as the rule of these ops."""

    def enter(function: Rule) -> Rule:
        for name in names:
            if name in _rules:
                raise AssertionError(f"{name} has two rules")
            _rules[name] = function
        return function

    return enter


def find_rule(op: ir.Operation) -> Rule | None:
    return _rules.get(op_name(op))


def names() -> list[str]:
    """The names of all ops that have a rule, sorted."""
    return sorted(_rules)
