# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes Shoal MLIR as text, in the generic form of ops.

    builder = Builder()
    builder.mesh("mesh", '#shoal.mesh<["x" = 4]>')
    with builder.function("f", [TensorType((4,), "f32")]) as (x,):
        y = builder.op("shoal.relu", [x], [x.type])[0]
        builder.op("func.return", [y])
    text = builder.module()

Nothing is checked here: the compiler verifies what it parses.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class TensorType:
    """`element` is MLIR's name: f32, f64, bf16, f16, f8E4M3FN, f8E5M2, i64,
    i32, i16, i8, i1."""

    shape: tuple[int, ...]
    element: str

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element}>"


@dataclass(frozen=True)
class Location:
    """A place in a source file; `name` adds what it is called there, as JAX does.

    Where a `Location` is asked for, the text inside MLIR's `loc(...)` will do, too.
    """

    file: str
    line: int
    column: int = 0
    name: str = ""

    def __str__(self) -> str:
        place = f"{quoted(self.file)}:{self.line}:{self.column}"
        return f"{quoted(self.name)}({place})" if self.name else place


@dataclass(frozen=True, eq=False)
class Value:
    """A value of the program that is written: its name (`%3`, `%4#1`) and type."""

    name: str
    type: TensorType

    def __str__(self) -> str:
        return self.name


@dataclass
class Region:
    """One block: its arguments and the lines that `Builder.block` collects."""

    arguments: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


def quoted(text: str) -> str:
    """A string attribute: MLIR escapes bytes as \\XX."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_escaped, text.encode())) + '"'


def _escaped(byte: int) -> str:
    is_plain = 32 <= byte < 127 and byte not in b'"\\'
    return chr(byte) if is_plain else f"\\{byte:02X}"


def i64s(numbers) -> str:
    """A DenseI64ArrayAttr."""
    return f"array<i64{': ' if len(numbers) else ''}{', '.join(str(int(n)) for n in numbers)}>"


def dictionary(attributes: Mapping[str, str | None]) -> str:
    """`{a = 1 : i32, b}`; a value of None is a UnitAttr."""
    entries = (
        name if value is None else f"{name} = {value}"
        for name, value in (
            (key if key.replace(".", "_").isidentifier() else json.dumps(key), value)
            for key, value in attributes.items()
        )
    )
    return "{" + ", ".join(entries) + "}"


class Builder:
    """Writes one module, op by op."""

    def __init__(self):
        self._top: list[str] = []
        self._lines = self._top
        self._count = 0
        self._depth = 1
        # Of memory, what may be warned of with it.
        self.advice: dict[str, None] = {}
        # Where ops come from that are given no location of their own.
        self.location: Location | str | None = None

    def fresh(self) -> str:
        """A name that no other value has."""
        self._count += 1
        return f"%{self._count - 1}"

    def op(
        self,
        name: str,
        operands: Sequence[Value] = (),
        results: Sequence[TensorType] = (),
        attributes: Mapping[str, str | None] | None = None,
        regions: Sequence[Region] = (),
        location: Location | str | None = None,
        discardable: Mapping[str, str | None] | None = None,
    ) -> list[Value]:
        """Writes an op and returns its results.

        `attributes` are the op's own, by their names in the dialect, each
        spelled as MLIR; `discardable` are those of others (`shoal.name`).
        """
        base = self.fresh() if results else ""
        values = [
            Value(base if len(results) == 1 else f"{base}#{i}", type)
            for i, type in enumerate(results)
        ]
        count = f":{len(results)}" if len(results) > 1 else ""
        head = f"{base}{count} = " if results else ""
        head += f'"{name}"({", ".join(map(str, operands))})'
        if attributes:
            head += f" <{dictionary(attributes)}>"
        tail = f" {dictionary(discardable)}" if discardable else ""
        types = ", ".join(str(value.type) for value in operands)
        tail += f" : ({types}) -> ({', '.join(map(str, results))}){self._at(location)}"
        self._write_op(head, regions, tail)
        return values

    def region(self, types: Sequence[TensorType] = ()) -> Region:
        """A region of one block with arguments of these types; fill it in `block`."""
        return Region([Value(self.fresh(), type) for type in types])

    @contextlib.contextmanager
    def block(self, region: Region) -> Iterator[list[Value]]:
        """Ops written meanwhile go into the region; then give it to `op`."""
        outer = self._lines
        self._lines = region.lines
        self._depth += 1
        try:
            yield region.arguments
        finally:
            self._lines = outer
            self._depth -= 1

    @contextlib.contextmanager
    def function(
        self,
        name: str,
        arguments: Sequence[TensorType],
        results: Sequence[TensorType] | None = None,
        *,
        argument_attributes: Sequence[Mapping[str, str | None]] = (),
        result_attributes: Sequence[Mapping[str, str | None]] | None = None,
        argument_locations: Sequence[Location | str | None] = (),
        private: bool = False,
        location: Location | str | None = None,
    ) -> Iterator[list[Value]]:
        """A function whose body is written meanwhile; it ends in `func.return`.

        Where they are not given, set `results` and `result_attributes` of the
        builder once the body is known.
        """
        region = self.region(arguments)
        self.results = results
        self.result_attributes = result_attributes
        with self.block(region):
            yield region.arguments
        header = {
            "sym_name": quoted(name),
            "function_type": f"({', '.join(map(str, arguments))}) -> "
            f"({', '.join(map(str, self.results or ()))})",
        }
        if any(argument_attributes):
            header["arg_attrs"] = f"[{', '.join(map(dictionary, argument_attributes))}]"
        if self.result_attributes and any(self.result_attributes):
            header["res_attrs"] = f"[{', '.join(map(dictionary, self.result_attributes))}]"
        if private:
            header["sym_visibility"] = '"private"'
        self._write_op(
            f'"func.func"() <{dictionary(header)}>',
            [region],
            f" : () -> (){self._at(location)}",
            list(argument_locations),
        )

    def private_function(
        self,
        name: str,
        region: Region,
        results: Sequence[TensorType],
        location: Location | str | None = None,
        discardable: Mapping[str, str | None] | None = None,
    ) -> None:
        """A function of a region that was written, which ends in `func.return`.

        It stands in the module, also if another function is being written. The
        region's arguments are the function's; its values' names are its own.
        """
        self._private(name, region.arguments, results, region, location, discardable)

    def declaration(
        self,
        name: str,
        arguments: Sequence[Value],
        results: Sequence[TensorType],
        discardable: Mapping[str, str | None],
        location: Location | str | None = None,
    ) -> None:
        """A private function without a body, which a pass makes of what it says of itself."""
        self._private(name, arguments, results, Region(), location, discardable)

    def _private(self, name, arguments, results, region, location, discardable=None) -> None:
        types = ", ".join(str(argument.type) for argument in arguments)
        header = {
            "sym_name": quoted(name),
            "function_type": f"({types}) -> ({', '.join(map(str, results))})",
            "sym_visibility": '"private"',
        }
        tail = f" {dictionary(discardable)}" if discardable else ""
        outer = self._lines, self._depth
        self._lines, self._depth = self._top, 1
        self._write_op(
            f'"func.func"() <{dictionary(header)}>',
            [region],
            f"{tail} : () -> (){self._at(location)}",
        )
        self._lines, self._depth = outer

    def mesh(
        self, name: str, attribute: str, discardable: Mapping[str, str | None] | None = None
    ) -> None:
        """`shoal.mesh @name = attribute`, at the module's level."""
        attributes = {"sym_name": quoted(name), "mesh": attribute}
        self.op("shoal.mesh", attributes=attributes, discardable=discardable)

    def module(self) -> str:
        """The text of the module."""
        advice = {"shoal.memory_advice": f"[{', '.join(map(quoted, self.advice))}]"}
        tail = f" {dictionary(advice)}" if self.advice else ""
        return "\n".join(['"builtin.module"() ({', *self._top, f"}}){tail} : () -> ()", ""])

    def _at(self, location: Location | str | None) -> str:
        location = location or self.location
        return f" loc({location})" if location else ""

    def _write_op(self, head, regions, tail, argument_locations=()) -> None:
        indent = "  " * self._depth
        if not regions:
            self._lines.append(indent + head + tail)
            return
        self._lines.append(f"{indent}{head} ({{")
        for i, region in enumerate(regions):
            if i:
                self._lines.append(f"{indent}}}, {{")
            if region.arguments:
                locations = [*argument_locations, *[None] * len(region.arguments)]
                arguments = ", ".join(
                    f"{value.name}: {value.type}{self._at(where)}"
                    for value, where in zip(region.arguments, locations)
                )
                self._lines.append(f"{indent}^bb0({arguments}):")
            self._lines.extend(region.lines)
        self._lines.append(f"{indent}}}){tail}")
