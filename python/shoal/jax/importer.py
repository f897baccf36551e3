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

from shoal.errors import ShoalError, UnsupportedError
from shoal.ir import Builder, Location, Region, TensorType, Value
from shoal.jax import functions
from shoal.jax.arithmetic import Arithmetic
from shoal.jax.attributes import string
from shoal.jax.callbacks import Callbacks
from shoal.jax.halves import Rewritten
from shoal.jax.locations import joined, name_of, place_of, readable, spelled
from shoal.jax.open_regions import OpenRegion, open_regions
from shoal.jax.refusals import Unsupported, described
from shoal.jax.registry import find_importer, op_name, reason_of
from shoal.jax.shardings import ShardingImporter
from shoal.jax.types import ScalarType, UnsupportedTypeError, is_token, tensor_type, tensors_in
from shoal.mesh import Mesh
from shoal.mesh_sharding import MeshSharding


class Importer:
    """Imports one module; importers of ops read and write through it.

    builder: writes the Shoal program.
    arith: arithmetic on values, written by the builder.
    values: what StableHLO's values have become; tokens become nothing.
    callbacks: of the host, where their functions are known.
    draws: how many ops have drawn random numbers of their own so far.
    drawing: the functions that draw some.
    callers: the ops whose functions or bodies are written where these stand, from outside to inside.
    """

    def __init__(
        self,
        rewritten: Rewritten,
        mesh: Mesh | None = None,
        callbacks: Callbacks | None = None,
        inputs: Sequence[MeshSharding | None] = (),
        outputs: Sequence[MeshSharding | None] = (),
    ):
        self.module = module = rewritten.module
        self.callbacks = callbacks
        self.builder = Builder()
        self.arith = Arithmetic(self.builder)
        self.shardings = ShardingImporter(module, mesh)
        # Where the entry's arguments and results lie, if the module does not say it.
        self._inputs, self._outputs = inputs, outputs
        self.values: dict[ir.Value, Any] = {}
        self.functions = {
            string(op.operation, "sym_name"): op.operation
            for op in module.body.operations
            if op.operation.name == "func.func"
        }
        self.drawing = functions.drawing(self.functions)
        # Regions for one device whose body was inlined, by what their first exit gives, and
        # what the others give, once they are written.
        self.open_regions: dict[ir.Value, OpenRegion] = {}
        self.written_exits: set[ir.Value] = set()
        self.draws = 0
        self.callers: list[ir.Operation] = []
        # Modules whose values are in `values`.
        self.kept_modules: list[ir.Module] = [module]
        self._problems: dict[str, None] = dict.fromkeys(rewritten.problems)
        # The first exception that no importer raised on purpose.
        self._cause: Exception | None = rewritten.cause
        # What a tensor of rank 0 becomes; None: itself.
        self._scalars: Callable[[TensorType], TensorType] | None = None
        self._place: Location | str | None = None
        # The name of the call or region whose ops are written where it stands.
        self._around = ""
        # Where each function is called first.
        self._call_places: dict[str, Location | str | None] = {}

    def run(self) -> str:
        """The text of the Shoal program; UnsupportedError with all that is in the way."""
        self.shardings.declare_meshes(self.builder)
        names = functions.reachable(self.functions)
        if not names:
            raise ShoalError("the program has no public function")
        for name in names:
            self._import_function(name)
        if self._problems:
            raise UnsupportedError("\n".join(self._problems)) from self._cause
        return self.builder.module()

    # Values and types

    def operands(self, op: ir.Operation) -> list[Value]:
        """What the op's operands have become."""
        return [self.values[operand] for operand in without_tokens(op.operands)]

    def type(self, value: ir.Value | ir.Type) -> TensorType:
        """The Shoal type of a value; in combiners that of `scalars` or `spread`."""
        type = tensor_type(value if isinstance(value, ir.Type) else value.type)
        return self._scalars(type) if self._scalars and not type.shape else type

    def result_types(self, op: ir.Operation) -> list[TensorType]:
        return [self.type(result) for result in without_tokens(op.results)]

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

    @property
    def can_call(self) -> bool:
        """Whether calls may stand here: in combiners and regions for one device none do."""
        return not (self.in_combiner or self.shardings.frames)

    @contextlib.contextmanager
    def _instead(self, scalars: Callable[[TensorType], TensorType]) -> Iterator[None]:
        outer, self._scalars = self._scalars, scalars
        try:
            yield
        finally:
            self._scalars = outer

    def inline(self, block: ir.Block, arguments: Sequence[Any]) -> list[Any]:
        """Imports a block's ops here, for these arguments; returns what it returns."""
        self.values.update(zip(without_tokens(block.arguments), arguments, strict=True))
        return self.import_block(block)

    def inline_at(
        self, op: ir.Operation, block: ir.Block, arguments: Sequence[Any]
    ) -> list[Any]:
        """As `inline`, of what an op calls or holds: names in it are relative to the op's."""
        outer = self._around
        self._around = joined(outer, name_of(op.location))
        self.callers.append(op)
        try:
            return self.inline(block, arguments)
        finally:
            self._around = outer
            self.callers.pop()

    def inline_module(
        self, op: ir.Operation, module: ir.Module, arguments: Sequence[Any] | None = None
    ) -> list[Any]:
        """Imports the one function of a module in the op's place: its ops have that place.

        arguments: of the function; by default the op's operands.
        The module stays, as values of it are noted.
        """
        self.kept_modules.append(module)
        block = functions.body_of(module)
        outer, self._place = self._place, self._spelled(op.location)
        try:
            return self.inline(block, self.operands(op) if arguments is None else arguments)
        finally:
            self._place = outer

    def region(self, block: ir.Block) -> Region:
        """A region of a StableHLO op, ending in `shoal.yield`."""
        arguments = without_tokens(block.arguments)
        region = self.builder.region([self.type(argument) for argument in arguments])
        with self.builder.block(region) as arguments:
            self.builder.op("shoal.yield", self.inline(block, arguments))
        return region

    def import_block(self, block: ir.Block) -> list[Value]:
        """Imports a block's ops; returns what its terminator's operands have become."""
        outer = self.builder.location
        *body, terminator = [op.operation for op in block.operations]
        self.import_ops(body)
        self.builder.location = outer
        return self.operands(terminator)

    def import_ops(self, ops: Sequence[ir.Operation]) -> None:
        """Imports ops of a block; regions that stand open among them with their first exit."""
        regions = [region for region in open_regions(ops) if self._check_ends(region)]
        later = [op for region in regions for op in (*region.entries, *region.body, *region.exits)]
        later = {result for op in later for result in op.results}
        for region in regions:
            later.difference_update(exit.results[0] for exit in region.exits)
            self.open_regions[region.exits[0].results[0]] = region
        for op in ops:
            is_written = op.results and op.results[0] in self.written_exits
            if not is_written and not any(result in later for result in op.results):
                self._import_op(op)

    def _check_ends(self, region: OpenRegion) -> bool:
        """Whether something leaves the region; else it is refused."""
        if not region.exits:
            self._report(region.entries[0], "nothing leaves the region behind it")
        return bool(region.exits)

    # Functions and ops

    def _import_function(self, name: str) -> None:
        op = self.functions[name]
        if len(op.regions[0].blocks) != 1:
            count = len(op.regions[0].blocks)
            self._report(op, f"it has {count} blocks" if count else "it has no body")
            return
        self._place = place_of(op.location) or self._call_places.get(name)
        block, types = op.regions[0].blocks[0], functions.type_of(op)
        try:
            arguments = [self.type(type) for type in types.inputs if not is_token(type)]
            results = [self.type(type) for type in types.results if not is_token(type)]
        except UnsupportedTypeError as error:
            self._import_for_problems(op, str(error))
            return
        try:
            argument_attributes, result_attributes = self._boundary(op)
        except Unsupported as reason:
            self._import_for_problems(op, str(reason))
            return
        with self.builder.function(
            name,
            arguments,
            results,
            argument_attributes=argument_attributes,
            result_attributes=result_attributes,
            argument_locations=[
                self._spelled(argument.location) for argument in without_tokens(block.arguments)
            ],
            private=name not in functions.entries(self.functions),
            location=self._spelled(op.location),
        ) as values:
            returned = self.inline(block, values)
            end = self._spelled(block.operations[len(block.operations) - 1].operation.location)
            self.builder.op("func.return", returned, location=end)

    def _boundary(self, op: ir.Operation) -> tuple[list[dict], list[dict]]:
        """What a function's arguments and results are called, and their shardings."""
        inputs, outputs = ((), ()) if functions.is_private(op) else (self._inputs, self._outputs)
        shardings = self.shardings
        return (
            _merged(functions.argument_attributes(op), op, shardings.argument_attributes, inputs),
            _merged(functions.result_attributes(op), op, shardings.result_attributes, outputs),
        )

    def _import_for_problems(self, op: ir.Operation, reason: str) -> None:
        """Of a function whose types or attributes have no counterpart: the text is not used."""
        known, block = len(self._problems), op.regions[0].blocks[0]
        with self.builder.block(self.builder.region()):
            arguments = without_tokens(block.arguments)
            self.inline(block, [self._placeholder(argument.type) for argument in arguments])
        if len(self._problems) == known or not functions.is_private(op):
            self._report(op, reason)

    def _import_op(self, op: ir.Operation) -> None:
        self.builder.location = self._spelled(op.location)
        if op.name == "func.call":
            self._call_places.setdefault(string(op, "callee"), self.builder.location)
        importer = find_importer(op)
        try:
            for operand in without_tokens(op.operands):
                _check_type(operand.type)
            if importer is None:
                for result in without_tokens(op.results):
                    _check_type(result.type)
                raise Unsupported(reason_of(op))
            results = importer(self, op)
            results = list(results) if isinstance(results, (list, tuple)) else [results]
            made = self._constrained(op, results)
            self.values.update(zip(without_tokens(op.results), made, strict=True))
        except Unsupported as reason:
            if op.name != "func.call" or not isinstance(reason, UnsupportedTypeError):
                self._report(op, str(reason))  # of types the function called is reported
            self._give_placeholders(op)
        except Exception as error:  # pylint: disable=broad-exception-caught
            # A form that its importer was not written for: the user gets the line all the same.
            self._cause = self._cause or error
            self._report(op, f"in a form that is not known ({type(error).__name__}: {error})")
            self._give_placeholders(op)

    def _give_placeholders(self, op: ir.Operation) -> None:
        """What follows an op that is refused is imported for its own problems; the text is not used."""
        for result in without_tokens(op.results):
            self.values[result] = self._placeholder(result.type)

    def _constrained(self, op: ir.Operation, results: list[Any]) -> list[Any]:
        """The results of an op with a sharding of its own, as annotated."""
        if self.in_combiner:
            return results
        shardings = iter(self.shardings.constraints(op))
        return [self._annotated(result, shardings) for result in results]

    def _annotated(self, value: Any, shardings: Iterator[str | None]) -> Any:
        """A value with the next sharding, if any; a tuple with one for each that is in it."""
        if isinstance(value, tuple):
            return tuple(self._annotated(part, shardings) for part in value)
        sharding = next(shardings)
        if sharding is None:
            return value
        attributes = {"sharding": sharding}
        return self.emit("shoal.sharding_constraint", [value], value.type, attributes)[0]

    def _placeholder(self, type: ir.Type) -> Any:
        if isinstance(type, ir.TupleType):
            return tuple(self._placeholder(type.get_type(i)) for i in range(type.num_types))
        try:
            return Value(self.builder.fresh(), self.type(type))
        except UnsupportedTypeError:
            return Value(self.builder.fresh(), TensorType((), "i1"))

    def _report(self, op: ir.Operation, reason: str) -> None:
        """Notes an op that cannot be imported; `run` raises them all."""
        place = readable(self._spelled(op.location))
        self._problems[described(op, op_name(op), reason, place)] = None

    def _spelled(self, location: ir.Location) -> Location | str | None:
        return spelled(location, self._place, self._around)


def without_tokens(values: Any) -> list[Any]:
    """Those of an op's operands or results, or of a block's arguments, that are values of Shoal's."""
    return [value for value in values if not is_token(value.type)]


def _merged(
    own: dict[int, dict], op: ir.Operation, others: Callable, defaults: Sequence[MeshSharding | None]
) -> list[dict]:
    """defaults: one for each, or none at all."""
    return [
        {**attributes, **others(op, number, default)}
        for (number, attributes), default in zip(own.items(), defaults or [None] * len(own))
    ]


def _check_type(type: ir.Type) -> None:
    """UnsupportedTypeError for what no value of Shoal's has; tuples are taken apart."""
    for part in tensors_in(type):
        tensor_type(part)
