# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host callbacks of a program that is lowered: what JAX's module names by number alone.

JAX lowers `jax.debug.print`, `jax.debug.callback`, `io_callback` and `pure_callback` to
custom calls with the number of a Python function, which the module does not hold. The
lowering rules here are JAX's own, and note beside each number what the primitive says.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from shoal.errors import UnsupportedError
from shoal.executable.host_calls import HostFunction
from shoal.jax.locations import readable, spelled
from shoal.jax.private import callback as jax_callback, debugging, effects

# What PrintFormat.h has of a scalar's form.
_SPEC = re.compile(r"(?:.?[<>=^])?[+\- ]?0?\d{0,3}(?P<precision>\.\d{1,3})?(?P<type>[dboxXeEfFgG%]?)")
_INTEGER_TYPES = "dboxX"
_PLAIN_OPTIONS = {
    "edgeitems": 3, "threshold": 1000, "floatmode": "maxprec", "precision": 8, "suppress": False,
    "linewidth": 75, "nanstr": "nan", "infstr": "inf", "sign": "-", "formatter": None,
    "legacy": False, "override_repr": None,
}  # fmt: skip


CALLBACKS_WITH_RESULTS = frozenset((jax_callback.io_callback_p, jax_callback.pure_callback_p))


@dataclass(frozen=True)
class Callback:
    """A callback of the module.

    function: takes and gives flat arrays, and checks what it gives.
    format: of what is printed, as `shoal.print` spells it; None where Python must do it.
    """

    name: str
    function: Callable[..., Sequence[Any]]
    is_pure: bool
    format: str | None


class Callbacks:
    """Those of one lowering, by their numbers."""

    def __init__(self) -> None:
        self._by_number: dict[int, Callback] = {}
        self.functions: dict[int, HostFunction] = {}

    def find(self, number: int) -> Callback | None:
        return self._by_number.get(number)

    def rules(self) -> tuple[tuple[Any, Callable[..., Any]], ...]:
        """For LoweringParameters.override_lowering_rules."""
        return (
            (debugging.debug_print_p, self._noting(debugging.debug_print_lowering_rule, _of_print)),
            (debugging.debug_callback_p, self._noting(debugging.debug_callback_lowering, _of_debug)),
            (jax_callback.io_callback_p, self._noting(jax_callback.io_callback_lowering, _of_io)),
            (
                jax_callback.pure_callback_p,
                self._noting(jax_callback.pure_callback_lowering, _of_pure),
            ),
        )

    def _noting(self, rule: Callable, describe: Callable[..., tuple]) -> Callable:
        """The rule, which adds functions to the module; those are what `describe` says."""

        def lowering(ctx: Any, *operands: Any, **parameters: Any) -> Any:
            _refuse_device(parameters)
            known = ctx.module_context.host_callbacks
            first = len(known)
            lowered = rule(ctx, *operands, **parameters)
            name, is_ordered, format = describe(ctx.avals_in, parameters)
            for number in range(first, len(known)):
                function = _without_token(known[number]) if is_ordered else known[number]
                is_pure = describe is _of_pure
                self._by_number[number] = Callback(name, function, is_pure, format)
            return lowered

        return lowering


def _refuse_device(parameters: Mapping[str, Any]) -> None:
    """A callback may not name the device that calls; JAX's rule would look for it in the mesh."""
    if parameters.get("sharding") is not None:
        name = _name(parameters["callback"].callback_func)
        raise UnsupportedError(
            f"{readable(spelled(ir.Location.current, None))}: callback {name} with sharding="
            " is not supported: the first device of the mesh calls, with whole values; leave it out"
        )


def _without_token(function: Callable) -> Callable:
    """Of an ordered callback, which hands JAX's token on."""
    return lambda *operands: function(None, *operands)[1:]


def _of_io(_avals: Any, parameters: Mapping[str, Any]) -> tuple[str, bool, None]:
    return _name(parameters["callback"].callback_func), parameters["ordered"], None


def _of_pure(_avals: Any, parameters: Mapping[str, Any]) -> tuple[str, bool, None]:
    return _name(parameters["callback"].callback_func), False, None


def _of_debug(_avals: Any, parameters: Mapping[str, Any]) -> tuple[str, bool, None]:
    function = parameters["callback"]
    # JAX's wrapper has the user's function in its closure.
    cells = zip(function.__code__.co_freevars, function.__closure__ or ())
    inner = {name: cell.cell_contents for name, cell in cells}.get("callback", function)
    return _name(inner), effects.ordered_effects.contains(parameters["effect"]), None


def _of_print(avals: Sequence[Any], parameters: Mapping[str, Any]) -> tuple[str, bool, str | None]:
    return "jax.debug.print", parameters["ordered"], _print_format(avals, parameters)


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


# Formats


@dataclass(frozen=True)
class _Operand:
    number: int


class _NeedsPython(Exception):
    pass


def _print_format(avals: Sequence[Any], parameters: Mapping[str, Any]) -> str | None:
    """What is printed, as `shoal.print` says it; None where only Python can."""
    if parameters["logging_record"] is not None:
        return None
    if dict(parameters["np_printoptions"]) != _PLAIN_OPTIONS and any(aval.ndim for aval in avals):
        return None
    operands = [_Operand(number) for number in range(len(avals))]
    args, kwargs = debugging.merge_callback_args(
        parameters["in_tree"], operands, parameters["static_args"]
    )
    if not parameters["has_placeholders"]:
        # JAX writes str of what follows, which differs from format's.
        return None if args else _escaped(parameters["fmt"])
    try:
        return "".join(_pieces(parameters["fmt"], args, kwargs, avals))
    except (_NeedsPython, LookupError, ValueError, TypeError):
        return None


def _pieces(format: str, args: Sequence[Any], kwargs: Mapping[str, Any], avals: Sequence[Any]):
    next_number = 0
    for text, field, spec, conversion in string.Formatter().parse(format):
        yield _escaped(text)
        if field is None:
            continue
        if conversion or "{" in spec or not re.fullmatch(r"\w*", field):
            raise _NeedsPython
        if not field:
            field = str(next_number)
            next_number += 1
        value = args[int(field)] if field.isdecimal() else kwargs[field]
        if isinstance(value, _Operand):
            yield _field(value.number, spec, avals[value.number])
        elif isinstance(value, (str, int, float, bool)) or value is None:
            yield _escaped(value.__format__(spec))
        else:
            raise _NeedsPython


def _field(number: int, spec: str, aval: Any) -> str:
    """The field of an operand, if a program can write it."""
    if not spec:
        return f"{{{number}}}"
    match = _SPEC.fullmatch(spec)
    is_float = not np.issubdtype(aval.dtype, np.integer) and aval.dtype != np.bool_
    if aval.ndim or not match:
        raise _NeedsPython
    is_integers = bool(match["type"]) and match["type"] in _INTEGER_TYPES
    if is_float and (is_integers or (match["precision"] and not match["type"])):
        raise _NeedsPython
    if not is_float and match["precision"] and (is_integers or not match["type"]):
        raise _NeedsPython
    return f"{{{number}:{spec}}}"


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
