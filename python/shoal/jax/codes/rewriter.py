# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites the ops of elements of few bits; see the package.

First all such values become codes, in place. Then an op that computes gets its operands decoded
and its results encoded; in the region by which it combines elements the values are decoded ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from shoal.jax.annotations import walk
from shoal.jax.codes import boundary
from shoal.jax.codes.formats import FORMATS, FloatFormat, Format, codes_of, format_of, retyped
from shoal.jax.codes.writer import Writer
from shoal.jax.known import known_op
from shoal.jax.locations import place_of, readable, spelled
from shoal.jax.refusals import Unsupported, described
from shoal.jax.registry import find_importer, moves, op_name, reason_of
from shoal.jax.types import element_of, tensors_in

_CALLS_OF_THE_HOST = "stablehlo.custom_call @xla_ffi"


class Rewriter:
    """Rewrites one module in place.

    module: has no elements of few bits any more, once it has run.
    problems: a line for each op that has no counterpart.
    cause: the first exception among their reasons that was not raised on purpose.
    """

    def __init__(self, module: Any):
        self.module = module
        self.problems: dict[str, None] = {}
        self.cause: Exception | None = None
        # What values were elements of, whether they are codes by now or, in `_wide`, decoded.
        self._formats: dict[ir.Value, Format] = {}
        self._wide: set[ir.Value] = set()
        self._writer = Writer()
        self._dead: list[ir.Operation] = []
        self._function: ir.Operation | None = None

    def run(self) -> None:
        functions = [
            op.operation for op in self.module.body.operations if op.operation.name == "func.func"
        ]
        for function in functions:
            self._function = function
            self._refuse(function)
        for function in functions:
            self._take_codes(function)
            boundary.retype(function)
        for self._function in functions:
            for block in self._function.regions[0].blocks:
                self._rewrite_block(block)
        for op in reversed(self._dead):
            op.erase()

    # Types

    def _take_codes(self, function: ir.Operation) -> None:
        for op in walk(function):
            blocks = (block for region in op.regions for block in region.blocks)
            arguments = (argument for block in blocks for argument in block.arguments)
            for value in (*op.results, *arguments):
                if format := format_of(value.type):
                    self._formats[value] = format
                    value.set_type(retyped(value.type, "ui8"))

    def _touches(self, op: ir.Operation) -> bool:
        """Whether the op, or what is in its regions, has elements of few bits."""
        values = (value for inner in walk(op) for value in (*inner.operands, *inner.results))
        return any(value in self._formats for value in values)

    # Ops

    def _rewrite_block(self, block: ir.Block) -> None:
        for op in [op.operation for op in block.operations]:
            if not self._touches(op):
                continue
            try:
                with ir.InsertionPoint(op), op.location:
                    self._rewrite(op)
            except Unsupported as reason:
                self._report(op, str(reason))

    def _rewrite(self, op: ir.Operation) -> None:
        if op.name == "stablehlo.constant":
            self._replace(op, self._constant(op, "ui8"))
        elif op.name == "stablehlo.convert":
            self._replace(op, self._converted(op))
        elif op.name == "stablehlo.bitcast_convert":
            source, result = op.operands[0], op.results[0]
            formats = self._formats.get(source), self._formats.get(result)
            self._replace(op, self._writer.cast(source, result.type, formats))
        elif op.name in _OF_BITS:
            self._replace(op, self._of_bits(op, _OF_BITS[op.name]))
        elif _moves_alone(op):
            self._decode(op, _indices(op))
            for region in op.regions:
                for block in region.blocks:
                    self._rewrite_block(block)
        else:
            self._compute(op)

    def _decode(self, op: ir.Operation, numbers: Sequence[int]) -> None:
        """Gives the op numbers for those of its operands that are codes."""
        for number in numbers:
            value = op.operands[number]
            if value in self._formats and value not in self._wide:
                op.operands[number] = self._decoded(value)

    def _compute(self, op: ir.Operation) -> None:
        self._decode(op, range(len(op.operands)))
        for region in op.regions:
            for block in region.blocks:
                self._widen(block)
        for result in op.results:
            if format := self._formats.pop(result, None):
                self._encode_behind(op, result, format)

    def _encode_behind(self, op: ir.Operation, result: ir.Value, format: Format) -> None:
        uses = list(result.uses)
        result.set_type(retyped(result.type, format.wide))
        with ir.InsertionPoint.after(op), op.location:
            codes = self._writer.encoded(result, format)
        for use in uses:
            use.owner.operation.operands[use.operand_number] = codes
        self._formats[codes] = format

    def _decoded(self, value: ir.Value) -> ir.Value:
        format, constant = self._formats[value], known_op(value)
        if constant is not None:  # stays one to who looks for it
            return self._spread_constant(value, constant)
        return self._writer.decoded(value, format)

    def _spread_constant(self, value: ir.Value, constant: ir.Operation) -> ir.Value:
        format = self._formats[value]
        codes = np.asarray(constant.attributes["value"])
        if constant.results[0] != value:  # one number everywhere
            codes = np.broadcast_to(codes.ravel()[:1].reshape(()), list(value.type.shape))
        return self._writer.constant(format.numbers(codes), retyped(value.type, format.wide))

    def _of_bits(self, op: ir.Operation, sign: str) -> ir.Value:
        """Of ops that read an integer's bits, as if it had that sign or none."""
        own = self._formats[op.operands[0]]
        format = FORMATS[f"{sign}{own.bits}"]
        numbers = [self._writer.decoded(value, format) for value in op.operands]
        type = retyped(op.results[0].type, format.wide)
        result = self._writer.emit(op.name, numbers, type)
        if op.name == "stablehlo.count_leading_zeros":
            unused = self._writer.constant(np.full(type.shape, 8 - own.bits, np.uint8), type)
            result = self._writer.emit("stablehlo.subtract", [result, unused], type)
        return self._writer.encoded(result, format)

    # Regions that combine elements

    def _widen(self, block: ir.Block) -> None:
        """Makes the values in a region decoded ones."""
        ops = [op.operation for op in block.operations]
        for argument in block.arguments:
            if argument in self._formats:
                self._widen_value(argument)
        # A sum of integers may overflow: its low bits are the same when the op is done.
        is_single = len(ops) == 2
        for op in ops:
            with ir.InsertionPoint(op), op.location:
                self._widen_op(op, is_single)

    def _widen_value(self, value: ir.Value) -> None:
        value.set_type(retyped(value.type, self._formats[value].wide))
        self._wide.add(value)

    def _widen_op(self, op: ir.Operation, is_single: bool) -> None:
        self._decode(op, range(len(op.operands)))
        results = [result for result in op.results if result in self._formats]
        if op.name == "stablehlo.bitcast_convert" or results and op.name in _OF_BITS:
            raise Unsupported(f"{op.name} where elements of few bits are combined")
        for result in results:
            self._widen_value(result)
        for region in op.regions:
            for block in region.blocks:
                self._widen(block)
        if op.name == "stablehlo.constant" and results:
            self._replace_wide(op, self._constant(op, self._formats[results[0]].wide))
        elif op.name == "stablehlo.convert" and results:
            format = self._formats[results[0]]
            source = op.operands[0]
            codes = self._writer.rounded(source, format)
            self._replace_wide(op, self._writer.decoded(codes, format))
        elif not (is_single or moves(op)):
            self._wrap(op, [result for result in results if not self._is_float(result)])

    def _wrap(self, op: ir.Operation, results: Sequence[ir.Value]) -> None:
        for result in results:
            format, uses = self._formats[result], list(result.uses)
            with ir.InsertionPoint.after(op):
                codes = self._writer.encoded(result, format)
                wrapped = self._writer.decoded(codes, format)
            for use in uses:
                use.owner.operation.operands[use.operand_number] = wrapped

    def _is_float(self, value: ir.Value) -> bool:
        return isinstance(self._formats[value], FloatFormat)

    # Constants and conversions

    def _constant(self, op: ir.Operation, element: str) -> ir.Value:
        format = self._formats[op.results[0]]
        codes = codes_of(op.attributes["value"], format)
        numbers = codes if element == "ui8" else format.numbers(codes)
        return self._writer.constant(numbers, retyped(op.results[0].type, element))

    def _converted(self, op: ir.Operation) -> ir.Value:
        source, result = op.operands[0], op.results[0]
        if source in self._formats:
            source = self._decoded(source)
        if result not in self._formats:
            return self._writer.converted(source, element_of(result.type))
        return self._writer.rounded(source, self._formats[result])

    def _replace(self, op: ir.Operation, value: ir.Value) -> None:
        format = self._formats.get(op.results[0])
        op.results[0].replace_all_uses_with(value)
        if format is not None:
            self._formats[value] = format
        self._dead.append(op)

    def _replace_wide(self, op: ir.Operation, value: ir.Value) -> None:
        self._replace(op, value)
        self._wide.add(value)

    # Problems

    def _refuse(self, function: ir.Operation) -> None:
        """Notes what has no counterpart, before types are others."""
        for op in walk(function):
            name = op_name(op)
            values = (*op.operands, *op.results)
            in_tuples = [t for v in values for t in tensors_in(v.type) if t != v.type]
            if found := _first(in_tuples):
                self._report(op, f"elements of {found.name} in a tuple")
            found = _first(value.type for value in values)
            if found is None or _is_terminator(op):
                continue
            if find_importer(op) is None:
                self._report(op, reason_of(op))
            elif name.startswith(_CALLS_OF_THE_HOST):
                self._report(op, f"of elements of {found.name}, which callbacks do not get")

    def _report(self, op: ir.Operation, reason: str) -> None:
        place = readable(spelled(op.location, place_of(self._function.location)))
        self.problems[described(op, op_name(op), reason, place)] = None


# What reads the bits of an integer, and the sign that it gives them.
_OF_BITS = {
    "stablehlo.count_leading_zeros": "ui",
    "stablehlo.popcnt": "ui",
    "stablehlo.shift_right_arithmetic": "i",
    "stablehlo.shift_right_logical": "ui",
}
# How many operands have elements, of ops whose other ones are indices.
_ELEMENTS = {
    "stablehlo.dynamic_slice": 1,
    "stablehlo.dynamic_update_slice": 2,
    "stablehlo.gather": 1,
}


def _first(types: Iterable[ir.Type]) -> Format | None:
    """The format of the first type that has one."""
    return next((format for format in map(format_of, types) if format), None)


def _is_terminator(op: ir.Operation) -> bool:
    return op.name in ("func.return", "stablehlo.return", "sdy.return")


def _moves_alone(op: ir.Operation) -> bool:
    """Whether no element is computed: regions that give arguments alone move, too."""
    if _is_terminator(op) or moves(op):
        return True
    inner = [inner for inner in walk(op) if inner != op]
    return bool(inner) and all(map(_is_terminator, inner))


def _indices(op: ir.Operation) -> Sequence[int]:
    """The operands of an op that moves elements which say where."""
    count = len(op.operands)
    if op.name == "stablehlo.scatter":
        return [count // 2]
    return range(_ELEMENTS.get(op.name, count), count)
