# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions within a program: a Python function traced apart, which passes can take as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import optree

from shoal import ir
from shoal.frontend import metrics, pytrees
from shoal.frontend.constants import as_value
from shoal.frontend.core import (
    Type,
    current,
    emit,
    region,
    tensor_type,
    type_of,
    user_location,
)
from shoal.frontend.value import Value


@dataclass(frozen=True)
class Subfunction:
    """A private function of the program.

    parameters: the types of what it was traced with.
    captured: the values of the program around it that it uses, its further arguments.
    returned: what it returns, values of its own region; `tree` is their structure.
    """

    symbol: str
    parameters: Sequence[Type]
    captured: Sequence[Value]
    returned: Sequence[Value]
    tree: optree.PyTreeSpec

    @property
    def results(self) -> list[Type]:
        """The types of what it returns."""
        return [type_of(value) for value in self.returned]

    def call(self, arguments: Sequence[Value]) -> list[Value]:
        """The results, of values of the parameters' types."""
        operands = [*arguments, *self.captured]
        made = emit("func.call", operands, self.results, _callee(self.symbol))
        return metrics.like(made, self.returned)

    def derivative(
        self, mode: str, outputs: Sequence[int], arguments: Sequence[Value]
    ) -> list[Value]:
        """What a derivative with respect to all parameters returns, by the mode.

        mode: of `--shoal-differentiate`; `arguments` are followed by a cotangent of each
          output for "vjp".
        """
        builder = current(mode).builder
        wrt = range(len(self.parameters))
        symbol = fresh_symbol(f"{self.symbol}.{mode}")
        cotangents = arguments[len(self.parameters) :]
        before = list(self.returned) if mode != "grad" else []
        results = [type_of(value) for value in before] + list(self.parameters)
        operands = [*arguments[: len(self.parameters)], *self.captured, *cotangents]
        described = {
            "of": reference_to(self.symbol),
            "wrt": ir.i64s(wrt),
            "outputs": ir.i64s(outputs),
            "mode": ir.quoted(mode),
        }
        builder.declaration(
            symbol,
            [operand.ir for operand in operands],
            [tensor_type(*result) for result in results],
            {"shoal.derivative": ir.dictionary(described)},
            user_location(),
        )
        made = emit("func.call", operands, results, _callee(symbol))
        return metrics.like(made, before) + made[len(before) :]


def subfunction(
    function: Callable[..., Any],
    name: str,
    parameters: Sequence[Type],
    attributes: Mapping[str, str | None] | None = None,
    symbol: str | None = None,
) -> Subfunction:
    """Traces a function of values of these types, which returns a tree of values.

    symbol: of `fresh_symbol`, where others had to name the function before.
    """
    captured: dict[str, Value] = {}
    symbol = symbol or fresh_symbol(name)
    with region(name, parameters, captured=captured) as (body, arguments):
        leaves, tree = pytrees.flatten(function(*arguments))
        values = [as_value(leaf, what=f"the result of {name}") for leaf in leaves]
        emit("func.return", values, [])
    # Names are a function's own: what is captured keeps that which it has around it.
    body.arguments.extend(value.ir for value in captured.values())
    current(name).builder.private_function(
        symbol,
        body,
        [tensor_type(*type_of(value)) for value in values],
        user_location(),
        attributes,
    )
    return Subfunction(symbol, parameters, list(captured.values()), values, tree)


def fresh_symbol(name: str) -> str:
    """A name that no other function of the program has."""
    number = current(name).builder.fresh().removeprefix("%")
    return re.sub(r"[^\w.\-]", "_", f"{name}.{number}")


def name_of(function: Callable[..., Any]) -> str:
    """What messages and symbols call a user's function."""
    return getattr(function, "__name__", "function")


def reference_to(symbol: str) -> str:
    """The attribute that names a function."""
    return f"@{ir.quoted(symbol)}"


def _callee(symbol: str) -> Mapping[str, str]:
    return {"callee": reference_to(symbol)}
