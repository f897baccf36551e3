# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is being traced: the program so far, its mesh, where the user's code is.

Every other module of the frontend adds ops by `emit`, and values of NumPy
arrays and Python numbers by `constants.as_value`.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard, Union

import numpy as np

from shoal import frames, ir
from shoal.errors import TraceError
from shoal.frontend import dtypes
from shoal.frontend.value import Scope, Value
from shoal.mesh import Mesh

ArrayLike: TypeAlias = Union[Value, np.ndarray, np.generic, bool, int, float]
Type: TypeAlias = tuple[tuple[int, ...], np.dtype]


class Trace:
    """One program. `scopes` are the function and the regions open around the next op."""

    def __init__(self, mesh: Mesh | None):
        self.builder = ir.Builder()
        self.mesh = mesh
        self.scopes: list[Scope] = []
        # The axes of all `shoal.manual` around the next op.
        self.manual_axes: tuple[str, ...] = ()
        # Of the scopes around the next op, outermost first.
        self.names: tuple[str, ...] = ()
        # Where the next ops come from, of a program that is read and not written in Python; None: the user's line.
        self.place: ir.Location | None = None


_active = threading.local()


def current(what: str) -> Trace:
    """The trace of this thread; `what` needs one."""
    trace = getattr(_active, "trace", None)
    if trace is None:
        raise TraceError(
            f"{what}: only inside of a function that shoal.jit, shoal.compile or shoal.trace traces"
        )
    return trace


def is_tracing() -> bool:
    """Whether this thread traces a function."""
    return getattr(_active, "trace", None) is not None


@contextlib.contextmanager
def activate(trace: Trace) -> Iterator[None]:
    """Ops go to this trace meanwhile. One trace at a time in a thread."""
    if getattr(_active, "trace", None) is not None:
        raise TraceError("trace: called inside of a function that is being traced")
    _active.trace = trace
    try:
        yield
    finally:
        _active.trace = None
        for scope in trace.scopes:
            scope.is_open = False


def advise(text: str) -> None:
    """Warns of memory, and of how the program could hold less, when it is compiled: once, in one warning with what is
    said of its memory then."""
    current("advise").builder.advice[text] = None


@contextlib.contextmanager
def at(place: ir.Location | None) -> Iterator[None]:
    """Ops that are added meanwhile come from there: an importer's, whose user wrote no line of this process.
    None: from where they did."""
    trace = current("at")
    outer = trace.place
    trace.place = outer if place is None else place
    try:
        yield
    finally:
        trace.place = outer


def user_location() -> ir.Location:
    """The line, and from Python 3.11 on the column, of the innermost user's frame; names of scopes."""
    trace = getattr(_active, "trace", None)
    if trace is not None and trace.place is not None:
        return trace.place
    frame = frames.user_frame()
    name = "" if trace is None else "/".join(trace.names)
    if frame is None:
        return ir.Location("<unknown>", 0, name=name)
    return ir.Location(frame.f_code.co_filename, frame.f_lineno, frames.column(frame), name)


def type_of(value: Value) -> Type:
    return value.shape, value.dtype


def tensor_type(shape: Sequence[int], dtype: np.dtype) -> ir.TensorType:
    return ir.TensorType(tuple(int(size) for size in shape), dtypes.element(dtype))


def emit(
    name: str,
    operands: Sequence[Value],
    results: Sequence[Type],
    attributes: Mapping[str, str | None] | None = None,
    regions: Sequence[ir.Region] = (),
) -> list[Value]:
    """Adds an op at the user's line.

    results: shape and type of each; attributes as `ir.Builder.op` takes them.
    TraceError for an operand that is of another trace or of a region that ended.
    """
    trace = current(name)
    for operand in operands:
        check_visible(operand, trace)
    written = trace.builder.op(
        name,
        [operand.ir for operand in operands],
        [tensor_type(*result) for result in results],
        attributes,
        regions,
        user_location(),
    )
    scope = trace.scopes[-1]
    return [Value(value, dtype, scope) for value, (_, dtype) in zip(written, results)]


def emit_one(
    name: str,
    operands: Sequence[Value],
    shape: Sequence[int],
    dtype: np.dtype,
    attributes: Mapping[str, str | None] | None = None,
    regions: Sequence[ir.Region] = (),
) -> Value:
    """`emit` of an op with one result."""
    return emit(name, operands, [(tuple(shape), dtype)], attributes, regions)[0]


def is_value(operand: Any) -> TypeGuard[Value]:
    return isinstance(operand, Value)


def check_visible(value: Value, trace: Trace) -> None:
    """TraceError for a value of another trace or of a region that is not around the next op.

    Functions between the value and the op note that they use it.
    """
    if not value.scope.is_open:
        raise TraceError(
            f"a value of {value.scope.name} is used after its end; return it from there instead"
        )
    inner = list(itertools.takewhile(lambda s: s is not value.scope, reversed(trace.scopes)))
    if len(inner) == len(trace.scopes):
        raise TraceError(f"a value of {value.scope.name} is used in another program")
    for scope in inner:
        if scope.is_isolated:
            raise TraceError(f"a value from outside of {scope.name}; pass it as an operand instead")
        if scope.captured is not None:
            scope.captured[value.ir.name] = value


@contextlib.contextmanager
def region(
    name: str,
    arguments: Sequence[Type],
    is_isolated: bool = False,
    captured: dict[str, Value] | None = None,
) -> Iterator[tuple[ir.Region, list[Value]]]:
    """Ops go into a new region meanwhile: yields it and its arguments.

    captured: where the region becomes a function: what it uses from around it is put there.

    A region that is given to no op is lost, with all that was written in it.
    """
    trace = current(name)
    result = trace.builder.region([tensor_type(*argument) for argument in arguments])
    scope = Scope(name, is_isolated, captured=captured)
    trace.scopes.append(scope)
    try:
        with trace.builder.block(result):
            yield result, [
                Value(value, dtype, scope) for value, (_, dtype) in zip(result.arguments, arguments)
            ]
    finally:
        scope.is_open = False
        trace.scopes.pop()
