# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imports a module of StableHLO: functions, values, locations.

What becomes of an op is said by the importers in `shoal.jax.ops`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxlib.mlir import ir

from shoal.errors import UnsupportedError
from shoal.ir import Builder, Location, Region, TensorType, Value, quoted
from shoal.jax.annotations import is_manual
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.attributes import string
from shoal.jax.locations import place_of, readable, spelled, unique_names
from shoal.jax.parse import parse
from shoal.jax.registry import Unsupported, find_importer, load_importers, op_name
from shoal.jax.shardings import ShardingImporter
from shoal.jax.types import ScalarType, UnsupportedTypeError, is_unsigned, tensor_type
from shoal.mesh import Mesh

# Attributes of arguments and results whose integers have no sign.
UNSIGNED = "shoal.unsigned"
NAME = "shoal.name"


def import_stablehlo(program: Any, *, mesh: Mesh | None = None) -> str:
    """The Shoal program, as MLIR text, of a StableHLO program.

    program: what `shoal.jax.parse.parse` takes.
    mesh: the devices of a program that names none.
    Raises UnsupportedError, which lists all ops that cannot be imported with
    their types and JAX's source lines, and ShoalError for what is no program.
    """
    load_importers()
    module = parse(program)
    with module.context:
        return Importer(module, mesh).run()


class Importer:
    """Imports one module; importers of ops read and write through it.

    builder: writes the Shoal program.
    arith: arithmetic on values, written by the builder.
    values: what StableHLO's values have become.
    """

    def __init__(self, module: ir.Module, mesh: Mesh | None = None):
        self.module = module
        self.builder = Builder()
        self.arith = Arithmetic(self.builder)
        self.shardings = ShardingImporter(module, mesh)
        self.values: dict[ir.Value, Any] = {}
        self.functions = {
            string(op.operation, "sym_name"): op.operation
            for op in module.body.operations
            if op.operation.name == "func.func"
        }
        # Modules whose values are in `values`.
        self.kept_modules: list[ir.Module] = [module]
        self._problems: dict[str, None] = {}
        # What a tensor of rank 0 becomes; None: itself.
        self._scalars: Callable[[TensorType], TensorType] | None = None
        self._place: Location | None = None

    def run(self) -> str:
        """The text of the Shoal program; UnsupportedError with all that is in the way."""
        self.shardings.declare_meshes(self.builder)
        for name in self._reachable():
            self._import_function(self.functions[name])
        if self._problems:
            raise UnsupportedError("\n".join(self._problems))
        return self.builder.module()

    def _reachable(self) -> list[str]:
        """The entry, `main` or else what is public, and the functions that it calls.

        JAX leaves comparators of custom calls behind, which nothing calls.
        """
        public = [name for name, op in self.functions.items() if not _is_private(op)]
        found = ["main"] if "main" in public else public
        for name in found:
            for callee in _callees(self.functions[name]):
                if callee in self.functions and callee not in found:
                    found.append(callee)
        return found

    # Values and types

    def operands(self, op: ir.Operation) -> list[Value]:
        """What the op's operands have become."""
        return [self.values[operand] for operand in op.operands]

    def type(self, value: ir.Value | ir.Type) -> TensorType:
        """The Shoal type of a value; in combiners that of `scalars` or `spread`."""
        type = tensor_type(value if isinstance(value, ir.Type) else value.type)
        return self._scalars(type) if self._scalars and not type.shape else type

    def result_types(self, op: ir.Operation) -> list[TensorType]:
        return [self.type(result) for result in op.results]

    # Writing

    def emit(
        self,
        name: str,
        operands: Sequence[Value],
        types: TensorType | Sequence[TensorType],
        attributes: dict[str, str | None] | None = None,
        regions: Sequence[Region] = (),
    ) -> list[Value]:
        """Writes an op at the current location; returns its results."""
        results = [types] if isinstance(types, TensorType) else types
        return self.builder.op(name, operands, results, attributes, regions)

    def scalars(self) -> contextlib.AbstractContextManager[None]:
        """Tensors of rank 0 are scalars meanwhile, as in combiners of Shoal's."""
        return self._instead(lambda type: ScalarType((), type.element))

    def spread(self, shape: Sequence[int]) -> contextlib.AbstractContextManager[None]:
        """Tensors of rank 0 have this shape meanwhile: a combiner works elementwise."""
        return self._instead(lambda type: TensorType(tuple(shape), type.element))

    @property
    def in_combiner(self) -> bool:
        return self._scalars is not None

    @contextlib.contextmanager
    def _instead(self, scalars: Callable[[TensorType], TensorType]) -> Iterator[None]:
        outer, self._scalars = self._scalars, scalars
        try:
            yield
        finally:
            self._scalars = outer

    def inline(self, block: ir.Block, arguments: Sequence[Any]) -> list[Any]:
        """Imports a block's ops here, for these arguments; returns what it returns."""
        self.values.update(zip(block.arguments, arguments, strict=True))
        return self.import_block(block)

    def region(self, block: ir.Block) -> Region:
        """A region of a StableHLO op, ending in `shoal.yield`."""
        region = self.builder.region([self.type(argument) for argument in block.arguments])
        with self.builder.block(region) as arguments:
            self.builder.op("shoal.yield", self.inline(block, arguments))
        return region

    def import_block(self, block: ir.Block) -> list[Value]:
        """Imports a block's ops; returns what its terminator's operands have become."""
        outer = self.builder.location
        *body, terminator = [op.operation for op in block.operations]
        for op in body:
            self._import_op(op)
        self.builder.location = outer
        return [self.values[value] for value in terminator.operands]

    # Functions and ops

    def _import_function(self, op: ir.Operation) -> None:
        name = string(op, "sym_name")
        block = op.regions[0].blocks[0]
        self._place = place_of(op.location)
        types = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
        is_entry = not _is_private(op)
        try:
            arguments = [self.type(type) for type in types.inputs]
            results = [self.type(type) for type in types.results]
        except UnsupportedTypeError as error:
            self._report(op, str(error))
            return
        with self.builder.function(
            name,
            arguments,
            results,
            argument_attributes=self._argument_attributes(op, block, is_entry),
            result_attributes=self._result_attributes(op, types, is_entry),
            argument_locations=[self._spelled(argument.location) for argument in block.arguments],
            private=not is_entry,
            location=self._spelled(op.location),
        ) as values:
            self.values.update(zip(block.arguments, values))
            returned = self.import_block(block)
            terminator = block.operations[len(block.operations) - 1]
            self.builder.op(
                "func.return", returned, location=self._spelled(terminator.operation.location)
            )

    def _argument_attributes(
        self, op: ir.Operation, block: ir.Block, is_entry: bool
    ) -> list[dict[str, str | None]]:
        paths = [
            argument.location.name_str if isinstance(argument.location, ir.NameLoc) else ""
            for argument in block.arguments
        ]
        names = unique_names(paths, "arg") if is_entry else [None] * len(paths)
        return [
            {**_port(name, argument.type, is_entry), **self.shardings.argument_attributes(op, i)}
            for i, (name, argument) in enumerate(zip(names, block.arguments))
        ]

    def _result_attributes(
        self, op: ir.Operation, types: ir.FunctionType, is_entry: bool
    ) -> list[dict[str, str | None]]:
        names: list[str | None] = [None] * len(types.results)
        if is_entry and "res_attrs" in op.attributes:
            names = unique_names(
                [
                    attributes["jax.result_info"].value if "jax.result_info" in attributes else ""
                    for attributes in map(ir.DictAttr, op.attributes["res_attrs"])
                ],
                "result",
            )
        return [
            {**_port(name, type, is_entry), **self.shardings.result_attributes(op, i)}
            for i, (name, type) in enumerate(zip(names, types.results))
        ]

    def _import_op(self, op: ir.Operation) -> None:
        self.builder.location = self._spelled(op.location)
        importer = find_importer(op)
        try:
            if importer is None:
                raise Unsupported()
            results = importer(self, op)
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            self.values.update(zip(op.results, self._constrained(op, results), strict=True))
        except (Unsupported, UnsupportedTypeError) as reason:
            self._report(op, str(reason))
            # What follows is imported for its own problems; the text is not used.
            for result in op.results:
                self.values[result] = self._placeholder(result.type)

    def _constrained(self, op: ir.Operation, results: list[Any]) -> list[Any]:
        """The results of an op with a sharding of its own, as annotated."""
        if self.in_combiner:
            return results
        return [
            result if sharding is None else self._annotated(result, sharding)
            for result, sharding in zip(results, self.shardings.constraints(op), strict=True)
        ]

    def _annotated(self, value: Value, sharding: str) -> Value:
        attributes = {"sharding": sharding}
        return self.emit("shoal.sharding_constraint", [value], value.type, attributes)[0]

    def _placeholder(self, type: ir.Type) -> Any:
        if isinstance(type, ir.TupleType):
            return tuple(self._placeholder(part) for part in _parts(type))
        try:
            return Value(self.builder.fresh(), self.type(type))
        except UnsupportedTypeError:
            return Value(self.builder.fresh(), TensorType((), "i1"))

    def _report(self, op: ir.Operation, reason: str) -> None:
        """Notes an op that cannot be imported; `run` raises them all."""
        operands = ", ".join(str(operand.type) for operand in op.operands)
        results = ", ".join(str(result.type) for result in op.results)
        types = "" if op.name == "func.func" else f" ({operands}) -> ({results})"
        place = readable(self._spelled(op.location))
        because = f": {reason}" if reason else ""
        self._problems[f"{place}: {op_name(op)}{types} is not supported{because}"] = None

    def _spelled(self, location: ir.Location) -> Location | str | None:
        return spelled(location, self._place)


def _is_private(function: ir.Operation) -> bool:
    return string(function, "sym_visibility") == "private"


def _callees(function: ir.Operation) -> list[str]:
    """The functions that an op's regions call, in their order."""
    names = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if is_manual(op):  # what it calls is written where it stands
            return ir.WalkResult.SKIP
        for key in ("callee", "decomposition"):
            if key in op.attributes:
                names.append(string(op, key))
        return ir.WalkResult.ADVANCE

    function.walk(visit, ir.WalkOrder.PRE_ORDER)
    return names


def _parts(type: ir.TupleType) -> list[ir.Type]:
    return [type.get_type(i) for i in range(type.num_types)]


def _port(name: str | None, type: ir.Type, is_entry: bool) -> dict[str, str | None]:
    attributes: dict[str, str | None] = {}
    if name:
        attributes[NAME] = quoted(name)
    if is_entry and is_unsigned(type) and tensor_type(type).element != "i1":
        attributes[UNSIGNED] = None
    return attributes
