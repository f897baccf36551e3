# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which layers of a model have experts."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence
from typing import Any

from shoal.errors import TraceError

__all__ = ["moe_layers"]

_OPERATORS = {ast.Add: operator.add, ast.Mult: operator.mul}
_LONGEST = 100_000  # of what text makes, and of a model's layers


def moe_layers(freq: int | str | Sequence[int], layers: int) -> tuple[bool, ...]:
    """Of each layer, whether it has experts (Megatron-Core's `moe_layer_freq`).

    freq: N for layers 0, N, 2 N, ...; a list of 0 and 1; or its text of lists, integers, + and *,
      "([1]+[0]*2)*4". TraceError where it is not of as many layers, or these are too many to be meant.
    """
    pattern: Any = _evaluate(freq) if isinstance(freq, str) else freq
    if layers > _LONGEST:
        raise TraceError(f"moe_layer_freq: {layers} layers; expected at most {_LONGEST}")
    if isinstance(pattern, int):
        if pattern < 1:
            raise TraceError(f"moe_layer_freq: every {pattern}-th layer")
        return tuple(i % pattern == 0 for i in range(layers))
    listed = list(pattern)
    if len(listed) != layers or any(entry not in (0, 1) for entry in listed):
        raise TraceError(f"moe_layer_freq: expected {layers} of 0 and 1, got {len(listed)}: {listed}")
    return tuple(bool(entry) for entry in listed)


def _evaluate(text: str) -> Any:
    try:
        return _value(ast.parse(text, mode="eval").body)
    except (SyntaxError, TypeError, _NotAPattern):
        raise TraceError(f"moe_layer_freq: {text!r} is not of lists, integers, + and *") from None


class _NotAPattern(Exception):
    pass


def _value(node: ast.AST) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.List):
        return [_value(element) for element in node.elts]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _value(node.left), _value(node.right)
        _check_length(left, right)
        return _OPERATORS[type(node.op)](left, right)
    raise _NotAPattern


def _check_length(left: Any, right: Any) -> None:
    """A short text can ask for a long list."""
    sizes = [len(side) if isinstance(side, list) else abs(side) for side in (left, right)]
    if sizes[0] * max(sizes[1], 1) > _LONGEST or sizes[1] > _LONGEST:
        raise _NotAPattern
