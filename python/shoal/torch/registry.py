# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which function imports which op: `@imports("aten.mm.default")` enters it.

An importer gets the `Op` that is imported, then the op's arguments by the names of its schema: tensors
as values of the program, numbers, types and lists as they are. What its signature has a default for,
the program may leave out; an argument that it has no name for is refused. It returns the op's results:
a value, or a sequence of them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

OpImporter = Callable[..., Any]

_importers: dict[str, OpImporter] = {}
# Of complex tensors, and the names of ops that are the same op of either half.
_of_complex: dict[str, OpImporter] = {}
_of_halves: set[str] = set()
_families: dict[str, str] = {}
_parameters: dict[str, frozenset[str]] = {}
# Those that take arguments of any name, as operands of a graph are.
_take_any: set[str] = set()
_reasons: dict[str, str] = {}
_dropped: dict[str, str] = {}

# Of a tensor's storage, which values of a program have none of.
IGNORED = frozenset({"memory_format", "layout", "device", "pin_memory", "non_blocking", "copy"})


def imports(*names: str, halves: bool = False) -> Callable[[OpImporter], OpImporter]:
    """Enters the decorated function as the importer of these ops.

    halves: of complex tensors the op is itself of either half.
    """
    family = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]

    def enter(function: OpImporter) -> OpImporter:
        for name in names:
            _enter(_importers, name, function, family)
        _of_halves.update(names if halves else ())
        return function

    return enter


def imports_complex(*names: str) -> Callable[[OpImporter], OpImporter]:
    """Enters the decorated function as the importer of these ops where an operand or a result is complex.

    It gets and gives a `halves.Pair` for each complex tensor; its `Op` has the types of halves.
    """
    family = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]

    def enter(function: OpImporter) -> OpImporter:
        for name in names:
            _enter(_of_complex, name, function, family)
        return function

    return enter


def _enter(table: dict[str, OpImporter], name: str, function: OpImporter, family: str) -> None:
    if name in table:
        raise AssertionError(f"{name} has two importers")
    table[name] = function
    _families.setdefault(name, family)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    _parameters[name] = _parameters.get(name, frozenset()) | {parameter.name for parameter in parameters}
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        _take_any.add(name)


def refuses(*names: str, reason: str) -> None:
    """Enters why there is no importer of these ops, and what to write instead."""
    _reasons.update(dict.fromkeys(names, reason))


def drops(*names: str, reason: str) -> None:
    """Enters why nothing is to be done for these ops, which have no results."""
    _dropped.update(dict.fromkeys(names, reason))


def find_importer(name: str) -> OpImporter | None:
    """The importer of an op, once `shoal.torch.ops` is imported."""
    return _importers.get(name)


def find_complex_importer(name: str) -> OpImporter | None:
    """The importer of an op where an operand or a result is complex; None where it is by halves, or has none."""
    return _of_complex.get(name)


def is_of_halves(name: str) -> bool:
    """Whether the op of complex tensors is itself of either half."""
    return name in _of_halves


def is_imported(name: str) -> bool:
    """Whether the op has an importer, of real or of complex tensors."""
    return name in _importers or name in _of_complex


def family_of(name: str) -> str:
    """The module of `shoal.torch.ops` that imports an op; "" of one without an importer."""
    return _families.get(name, "")


def takes(name: str, argument: str) -> bool:
    """Whether the op's importer has a name for an argument."""
    return argument in _parameters[name] or name in _take_any


def unknown_arguments(name: str, given: Any) -> list[str]:
    """Those of these that the op's importer has no name for, and that count for values."""
    return sorted(argument for argument in given if not takes(name, argument) and argument not in IGNORED)


def is_dropped(name: str) -> bool:
    """Whether nothing is to be done for the op."""
    return name in _dropped


def reason_of(name: str) -> str:
    """Why an op without an importer has none; "" where nothing is known of it."""
    if name in _reasons:
        return _reasons[name]
    op = name.split(".")[1] if name.count(".") else name
    if op.endswith("_") and not op.endswith("__"):
        return _IN_PLACE
    return ""


_IN_PLACE = (
    "it writes over a tensor; save what `shoal.torch.export(module, args)` gives, or "
    "`program.run_decompositions({})`, where results are new tensors"
)


def names() -> list[str]:
    """The names of all ops that are imported, sorted."""
    return sorted({*_importers, *_of_complex})


def refused() -> list[str]:
    """The names of the ops that are refused for a reason of their own, sorted."""
    return sorted(_reasons)


def dropped() -> list[str]:
    """The names of the ops that nothing is done for, sorted."""
    return sorted(_dropped)
