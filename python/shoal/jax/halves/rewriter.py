# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites functions of complex numbers op by op; see the package.

Real values stay where they are. What is complex is kept until the end, so that rules see the
program as JAX wrote it, and erased then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from shoal.jax import functions, shardy
from shoal.jax.annotations import GSPMD, SHARDY, walk
from shoal.jax.attributes import string
from shoal.jax.halves import boundary
from shoal.jax.halves.constants import halves_of_constant, splat
from shoal.jax.halves.pairs import Pair, half_of, is_complex
from shoal.jax.halves.rules import find_rule
from shoal.jax.known import known_splat
from shoal.jax.locations import place_of, readable, spelled
from shoal.jax.refusals import Unsupported, described
from shoal.jax.registry import OfComplex, find_importer, of_complex, op_name

# How many arguments of a region each operand has side by side, where it is not one: a
# comparator's are the two elements that it compares.
_ARGUMENTS_OF_AN_OPERAND = {"stablehlo.sort": 2}
# Attributes with a sharding for each of the op's results or operands.
_PER_OPERAND, _PER_RESULT = ("in_shardings",), ("out_shardings", SHARDY)


class Rewriter:
    """Rewrites one module in place.

    module: has no complex values any more, once it has run, in functions that are called.
    pairs: the halves of its complex values.
    problems: a line for each op that has no counterpart.
    cause: the first exception that no rule raised on purpose.
    """

    def __init__(self, module: Any):
        self.module = module
        self.pairs: dict[ir.Value, Pair] = {}
        self.problems: dict[str, None] = {}
        self.cause: Exception | None = None
        # Modules that formulas were lowered to, by what they are of.
        self.formulas: dict[Any, ir.Module] = {}
        self._entries: list[str] = []
        self._function: ir.Operation | None = None
        self._dead: list[ir.Operation] = []
        # Blocks, and how many of their first arguments are to go.
        self._dead_arguments: list[tuple[ir.Block, int]] = []

    def run(self) -> None:
        known = {
            string(op.operation, "sym_name"): op.operation
            for op in self.module.body.operations
            if op.operation.name == "func.func"
        }
        self._entries = functions.entries(known)
        for name in _called(known, self._entries):
            if len(known[name].regions[0].blocks) == 1:
                self._rewrite_function(known[name])
        for op in reversed(self._dead):
            op.erase()
        for block, count in self._dead_arguments:
            for _ in range(count):
                block.erase_argument(0)

    # What rules write with

    def emit(
        self,
        name: str,
        operands: Sequence[ir.Value],
        type: ir.Type,
        attributes: Mapping[str, ir.Attribute] = MappingProxyType({}),
    ) -> ir.Value:
        """Writes an op of real numbers, of one result, in front of the op at hand."""
        return self.emit_all(name, operands, [type], attributes).results[0]

    @staticmethod
    def emit_all(
        name: str,
        operands: Sequence[ir.Value],
        types: Sequence[ir.Type],
        attributes: Mapping[str, ir.Attribute],
        regions: int = 0,
    ) -> ir.Operation:
        return ir.Operation.create(
            name,
            results=list(types),
            operands=list(operands),
            attributes=dict(attributes),
            regions=regions,
        )

    def parts(self, value: ir.Value) -> list[ir.Value]:
        """The value's halves, or the value."""
        return list(self.pairs[value]) if value in self.pairs else [value]

    def zero(self, type: ir.Type) -> ir.Value:
        return self.emit("stablehlo.constant", [], type, {"value": splat(type, 0.0)})

    def copy(self, op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
        """The op, of real operands and one real result."""
        return self.emit(op.name, operands, half_of(op.results[0].type), _attributes(op))

    def inline(self, module: ir.Module, operands: Sequence[ir.Value]) -> list[ir.Value]:
        """The one function of a module, rewritten, in front of the op at hand.

        Its arguments are values of the module that is rewritten, complex ones as such, and so
        are its results.
        """
        block = functions.body_of(module)
        *body, end = block.operations
        known = dict(zip(block.arguments, operands, strict=True))
        for op in (inner.operation for inner in body):
            if op.name == "stablehlo.constant" and is_complex(op.results[0].type):
                known[op.results[0]] = op.results[0]
                self.pairs[op.results[0]] = self.constant(op)
                continue
            types = [result.type for result in op.results]
            inputs = [known[operand] for operand in op.operands]
            made = self.emit_all(op.name, inputs, types, _attributes(op))
            known.update(zip(op.results, self._rewrite_op(made), strict=True))
        return [known[value] for value in end.operation.operands]

    def constant(self, op: ir.Operation) -> Pair:
        halves = halves_of_constant(op)
        type = half_of(op.results[0].type)
        return Pair(*(self.emit("stablehlo.constant", [], type, {"value": a}) for a in halves))

    # Functions and blocks

    def _rewrite_function(self, op: ir.Operation) -> None:
        self._function = op
        block = op.regions[0].blocks[0]
        if string(op, "sym_name") in self._entries:
            boundary.mark(op)
            self._take_apart(block)
        else:
            self._spread_function(op)
            self._spread_arguments(block, 1)
        self._rewrite_block(block)

    def _take_apart(self, block: ir.Block) -> None:
        """Makes the entry's complex arguments arrays with both halves."""
        old = list(block.arguments)
        if not any(is_complex(argument.type) for argument in old):
            return
        new = [block.add_argument(boundary.outer_type(a.type), a.location) for a in old]
        self._dead_arguments.append((block, len(old)))
        with ir.InsertionPoint.at_block_begin(block):
            for argument, array in zip(old, new):
                if is_complex(argument.type):
                    with array.location:
                        self.pairs[argument] = boundary.taken_apart(self.emit, array)
                else:
                    argument.replace_all_uses_with(array)

    def _spread_function(self, op: ir.Operation) -> None:
        """The type and attributes of a function that the program itself calls."""
        type = functions.type_of(op)
        for name, types in (("arg_attrs", type.inputs), ("res_attrs", type.results)):
            if name in op.attributes:
                op.attributes[name] = ir.ArrayAttr.get(_doubled(op.attributes[name], types), op.context)
        sides = (_doubled(map(half_of, types), types) for types in (type.inputs, type.results))
        made = ir.FunctionType.get(*sides, context=op.context)
        op.attributes["function_type"] = ir.TypeAttr.get(made, op.context)

    def _spread_arguments(self, block: ir.Block, group: int) -> None:
        """Arguments that are halves in the place of complex ones, `group` of which are a list."""
        old = list(block.arguments)
        if not any(is_complex(argument.type) for argument in old):
            return
        for begin in range(0, len(old), group):
            members = old[begin : begin + group]
            types = [half_of(member.type) for member in members]
            made = [block.add_argument(t, m.location) for t, m in zip(types, members)]
            if not is_complex(members[0].type):
                for member, new in zip(members, made):
                    member.replace_all_uses_with(new)
                continue
            others = [block.add_argument(t, m.location) for t, m in zip(types, members)]
            self.pairs.update(zip(members, map(Pair, made, others)))
        self._dead_arguments.append((block, len(old)))

    def _rewrite_block(self, block: ir.Block) -> None:
        for op in list(block.operations):
            self._rewrite_op(op.operation)

    # Ops

    def _rewrite_op(self, op: ir.Operation) -> list[ir.Value]:
        """Rewrites an op and what is in it; returns its results, complex ones as they were."""
        if not _is_of_complex(op):
            for region in op.regions:
                for block in region.blocks:
                    self._rewrite_block(block)
            return list(op.results)
        try:
            with ir.InsertionPoint(op), op.location:
                made = self._annotated(op, self._made_of(op))
        except Exception as reason:  # pylint: disable=broad-exception-caught
            self._report(op, self._explained(reason))
            with ir.InsertionPoint(op), op.location:
                made = [self._placeholder(result.type) for result in op.results]
        self._dead.append(op)
        return [self._replaced(old, new) for old, new in zip(op.results, made, strict=True)]

    def _replaced(self, old: ir.Value, new: Any) -> ir.Value:
        if isinstance(new, Pair):
            self.pairs[old] = new
            return old
        old.replace_all_uses_with(new)
        return new

    def _made_of(self, op: ir.Operation) -> list[Any]:
        rule = find_rule(op)
        made = rule(self, op) if rule else None
        if made is not None:
            return made
        kind = of_complex(op)
        if OfComplex.EACH in kind and _is_by_halves(op):
            return self._each(op)
        if op.name == "func.return" and string(self._function, "sym_name") in self._entries:
            return self._return(op)
        if OfComplex.BOTH in kind or _is_terminator(op):
            return self._both(op)
        if OfComplex.PRODUCT in kind:
            return [self._product(op)]
        raise Unsupported("of complex numbers" if find_importer(op) else "")

    def _return(self, op: ir.Operation) -> list[Any]:
        """The entry's results, of which complex ones are arrays with both halves."""
        results = [
            boundary.put_together(self.emit, self.pairs[value]) if value in self.pairs else value
            for value in op.operands
        ]
        self.emit_all(op.name, results, [], {})
        return []

    def _each(self, op: ir.Operation) -> list[Any]:
        """The op, of either half; what it does to real values once."""
        halves = [self._half(op, part, {}).results for part in (0, 1)]
        return [
            Pair(real, imag) if is_complex(old.type) else real
            for old, real, imag in zip(op.results, *halves, strict=True)
        ]

    def _half(self, op: ir.Operation, part: int, known: dict[ir.Value, ir.Value]) -> ir.Operation:
        """The op and its regions, of one half of each complex value; `known` has the regions' own."""
        operands = [
            known[value] if value in known else self.parts(value)[part * (value in self.pairs)]
            for value in op.operands
        ]
        types = [half_of(result.type) for result in op.results]
        if op.name == "stablehlo.constant" and is_complex(op.results[0].type):
            attributes = {"value": halves_of_constant(op)[part]}
        else:
            attributes = _attributes(op)
        made = self.emit_all(op.name, operands, types, attributes, len(op.regions))
        for region, target in zip(op.regions, made.regions):
            for block in region.blocks:
                self._half_of_block(block, target, part, known)
        return made

    def _half_of_block(
        self, block: ir.Block, target: ir.Region, part: int, known: dict[ir.Value, ir.Value]
    ) -> None:
        arguments = list(block.arguments)
        types = [half_of(argument.type) for argument in arguments]
        locations = [argument.location for argument in arguments]
        copy = target.blocks.append(*types, arg_locs=locations)
        known = {**known, **dict(zip(arguments, copy.arguments, strict=True))}
        with ir.InsertionPoint(copy):
            for op in (inner.operation for inner in block.operations):
                with op.location:
                    made = self._half(op, part, known)
                known.update(zip(op.results, made.results, strict=True))

    def _both(self, op: ir.Operation) -> list[Any]:
        """The op with both halves in the place of each complex value in its lists."""
        group = _ARGUMENTS_OF_AN_OPERAND.get(op.name, 1)
        blocks = [list(region.blocks) for region in op.regions]
        for block in (block for region in blocks for block in region):
            self._spread_arguments(block, group)
            self._rewrite_block(block)
        operands = [part for value in op.operands for part in self.parts(value)]
        counts = [1 + is_complex(result.type) for result in op.results]
        types = [half_of(r.type) for r, count in zip(op.results, counts) for _ in range(count)]
        made = self.emit_all(op.name, operands, types, _spread(op), len(op.regions))
        for region, target in zip(blocks, made.regions):
            for block in region:
                block.append_to(target)
        results = iter(made.results)
        return [Pair(next(results), next(results)) if n == 2 else next(results) for n in counts]

    def _product(self, op: ir.Operation) -> Pair:
        """(a + bi) (c + di) = (ac - bd) + (ad + bc) i, without halves that are known to be 0."""
        (a, b), (c, d) = (self._factors(value) for value in op.operands)
        type = half_of(op.results[0].type)

        def of(left: ir.Value | None, right: ir.Value | None) -> ir.Value | None:
            return None if left is None or right is None else self.copy(op, [left, right])

        return Pair(
            self._combined("stablehlo.subtract", of(a, c), of(b, d), type),
            self._combined("stablehlo.add", of(a, d), of(b, c), type),
        )

    def _factors(self, value: ir.Value) -> list[ir.Value | None]:
        """Both halves; None for one that is 0 everywhere."""
        halves = [*self.parts(value), None][:2]
        return [None if half is None or known_splat(half) == 0 else half for half in halves]

    def _combined(
        self, name: str, left: ir.Value | None, right: ir.Value | None, type: ir.Type
    ) -> ir.Value:
        if left is None and right is None:
            return self.zero(type)
        if left is not None and right is not None:
            return self.emit(name, [left, right], type)
        if left is None and name == "stablehlo.subtract":
            return self.emit("stablehlo.negate", [right], type)
        return right if left is None else left

    # Annotations and problems

    def _annotated(self, op: ir.Operation, made: list[Any]) -> list[Any]:
        """What was made by a rule, with the shardings that the op's results have."""
        if not find_rule(op) or SHARDY not in op.attributes:
            if find_rule(op) and GSPMD in op.attributes:
                raise Unsupported(f"of complex numbers, with {GSPMD}")
            return made
        found = shardy.per_value(op.attributes[SHARDY])
        return [self._constrained(value, sharding) for value, sharding in zip(made, found)]

    def _constrained(self, value: Any, sharding: ir.Attribute) -> Any:
        if isinstance(value, Pair):
            return Pair(*(self._constrained(half, sharding) for half in value))
        attributes = {"sharding": sharding}
        return self.emit("sdy.sharding_constraint", [value], value.type, attributes)

    def _placeholder(self, type: ir.Type) -> Any:
        """Some value: a program with problems is not run."""
        if not is_complex(type):
            zero = "0.0" if isinstance(type.element_type, ir.FloatType) else "0"
            number = "false" if str(type.element_type) == "i1" else zero
            value = ir.Attribute.parse(f"dense<{number}> : {type}", type.context)
            return self.emit("stablehlo.constant", [], type, {"value": value})
        return Pair(*(self.zero(half_of(type)) for _ in range(2)))

    def _explained(self, error: Exception) -> str:
        """The reason; of a form that a rule was not written for the error, which is kept."""
        if isinstance(error, Unsupported):
            return str(error)
        self.cause = self.cause or error
        return f"in a form that is not known ({type(error).__name__}: {error})"

    def _report(self, op: ir.Operation, reason: str) -> None:
        place = readable(spelled(op.location, place_of(self._function.location)))
        self.problems[described(op, op_name(op), reason, place)] = None


def _attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    return {name: op.attributes[name] for name in op.attributes}


def _called(known: dict[str, ir.Operation], entries: Sequence[str]) -> list[str]:
    """The entries and what they call, also in regions for one device."""
    found = list(entries)
    for name in found:
        for op in walk(known[name]):
            for key in ("callee", "decomposition"):
                callee = string(op, key)
                if callee in known and callee not in found:
                    found.append(callee)
    return found


def _doubled(entries: Iterable[Any], types: Iterable[ir.Type]) -> list[Any]:
    """What there is for each value, twice for complex ones."""
    return [e for e, type in zip(entries, types, strict=True) for _ in range(1 + is_complex(type))]


def _is_of_complex(op: ir.Operation) -> bool:
    return any(is_complex(value.type) for value in (*op.operands, *op.results))


def _is_terminator(op: ir.Operation) -> bool:
    return op.name in ("func.return", "stablehlo.return", "sdy.return")


def _is_by_halves(op: ir.Operation) -> bool:
    """Whether an op with EACH has nothing in its regions that mixes halves."""
    others = (inner for inner in walk(op) if inner != op and _is_of_complex(inner))
    return all(
        _is_terminator(inner)
        or inner.name == "stablehlo.constant"
        or OfComplex.EACH in of_complex(inner) and not _joins_halves(inner)
        for inner in others
    )


def _joins_halves(op: ir.Operation) -> bool:
    """Whether a conversion makes complex numbers of real ones, or these of those."""
    values = (*op.operands, *op.results)
    return find_rule(op) is not None and not all(is_complex(value.type) for value in values)


def _spread(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The op's attributes, with shardings of both halves where they are of complex values."""
    attributes = _attributes(op)
    if GSPMD in attributes and len(op.results) > 1:
        raise Unsupported(f"of complex numbers, with {GSPMD}")
    for names, values in ((_PER_OPERAND, op.operands), (_PER_RESULT, op.results)):
        for name in (name for name in names if name in attributes):
            found = shardy.per_value(attributes[name])
            spread = _doubled(found, [value.type for value in values])
            attributes[name] = sdy.TensorShardingPerValueAttr.get(spread, op.context)
    return attributes
