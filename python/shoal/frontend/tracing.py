# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a Python function to a program: arguments, results, their names and shardings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Union

import optree

from shoal import frames, ir
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import dtypes
from shoal.frontend.annotations import P, as_sharding
from shoal.frontend.checks import as_shape, check
from shoal.frontend.constants import as_value, is_scalar
from shoal.frontend.core import (
    Trace,
    activate,
    check_visible,
    current,
    tensor_type,
    user_location,
)
from shoal.frontend.pytrees import (
    argument_names,
    flatten,
    flatten_shardings,
    result_names,
    unflatten,
)
from shoal.frontend.value import Scope, Value
from shoal.mesh import Mesh, Sharding
from shoal.mesh_sharding import MeshSharding

__all__ = ["Program", "TensorSpec", "trace", "trace_program"]


class CallArguments(NamedTuple):
    """A call's positional and keyword arguments, where it has both."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


# What `trace` takes for a function's arguments.
Arguments = Union[Sequence[Any], Mapping[str, Any], CallArguments]


class TensorSpec:
    """Stands for an array that there is no need to have yet: its shape and type.

    sharding: how it will lie on the mesh, P("data", None); None: as is best.
    """

    def __init__(
        self, shape: int | Sequence[int], dtype: Any, sharding: P | Sharding | None = None
    ):
        self.shape = as_shape(shape, "TensorSpec")
        self.dtype = dtypes.as_dtype(dtype)
        self.sharding = sharding

    @staticmethod
    def of(leaf: Any, what: str = "argument") -> TensorSpec:
        """That of an array or a number, which is int32, float32 or bool."""
        if isinstance(leaf, TensorSpec):
            return leaf
        if is_scalar(leaf):
            return TensorSpec((), dtypes.of_scalar(leaf))
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise TraceTypeError(
                f"{what}: expected an array, a number or a TensorSpec, got {type(leaf).__name__}"
            )
        try:
            return TensorSpec(tuple(leaf.shape), leaf.dtype)
        except TraceTypeError as error:
            raise TraceTypeError(f"{what}: {error}") from None

    def __repr__(self) -> str:
        return f"TensorSpec({self.dtype}[{','.join(map(str, self.shape))}])"


@dataclass(frozen=True)
class Program:
    """A traced program: its text, and how arguments and results are put together.

    name: the function's.
    inputs, outputs: name to TensorSpec, in the program's order.
    in_tree, out_tree: optree's structures of `args` and of what the function returns.
    """

    name: str
    text: str
    mesh: Mesh | None
    inputs: Mapping[str, TensorSpec]
    outputs: Mapping[str, TensorSpec]
    in_tree: optree.PyTreeSpec
    out_tree: optree.PyTreeSpec


def trace(
    function: Callable[..., Any],
    args: Sequence[Any] | Mapping[str, Any],
    mesh: Mesh | None = None,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    name: str | None = None,
) -> str:
    """The Shoal program of a Python function, as MLIR.

    args: its arguments, a tuple of positional or a mapping of named ones; each
      a tree (lists, tuples, dicts) of arrays, numbers or TensorSpecs. Numbers
      are read when the program runs, too: bind others by functools.partial.
    mesh: the devices; annotations need it.
    in_shardings, out_shardings: trees like args and the result whose leaves
      are P(...), a Sharding or None (as is best); one leaf may stand for a
      whole subtree.
    name: of the program's function; the Python function's where it is None.

    Arguments are called as the function's parameters are, "params.wi" within a
    tree; results "result0" ..., or by the keys of a dict that is returned.
    Raises TraceError where the program cannot be; its traceback ends at the
    user's line.
    """
    options = {"in_shardings": in_shardings, "out_shardings": out_shardings, "name": name}
    return trace_program(function, args, mesh, **options).text


def trace_program(
    function: Callable[..., Any],
    args: Arguments,
    mesh: Mesh | None = None,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    name: str | None = None,
    donated: Sequence[bool] = (),
    inputs: Sequence[MeshSharding | None] = (),
    outputs: Sequence[MeshSharding | None] = (),
) -> Program:
    """As `trace`, with what is needed to call the program.

    donated: of each array of the arguments, whether the program may write over it; () of none.
    inputs, outputs: how arrays and results lie that no sharding is given for.
    """
    ports = _Ports(donated, inputs, outputs)
    try:
        return _trace(function, args, mesh, in_shardings, out_shardings, name, ports)
    except TraceError as error:
        raise error.with_traceback(frames.users_frames(error.__traceback__)) from None


class _Ports(NamedTuple):
    """What is known of arguments and results beside their specifications: one each, or ()."""

    donated: Sequence[bool]
    inputs: Sequence[MeshSharding | None]
    outputs: Sequence[MeshSharding | None]


def _trace(
    function: Callable[..., Any],
    args: Arguments,
    mesh: Mesh | None,
    in_shardings: Any,
    out_shardings: Any,
    name: str | None,
    ports: _Ports,
) -> Program:
    if mesh is not None and not isinstance(mesh, Mesh):
        raise TraceTypeError(f"mesh: expected a shoal.Mesh, got {mesh!r}")
    inputs, in_tree = _inputs(function, args, in_shardings)
    tracing = Trace(mesh)
    builder = tracing.builder
    builder.location = _location(function)
    if mesh is not None:
        builder.mesh(mesh.name, mesh.attribute(), mesh.discardable())
    title = str(name or getattr(function, "__name__", "main"))
    with (
        activate(tracing),
        builder.function(
            re.sub(r"\W", "_", title),
            [tensor_type(spec.shape, spec.dtype) for spec in inputs.values()],
            argument_attributes=_attributes(
                inputs, mesh, "argument", ports.inputs, ports.donated
            ),
        ) as arguments,
    ):
        tracing.scopes.append(Scope(title))
        result = _call(function, args, in_tree, arguments, inputs)
        values, outputs, out_tree = _outputs(result, out_shardings)
        builder.results = [value.ir.type for value in values]
        builder.result_attributes = _attributes(outputs, mesh, "result", ports.outputs)
        builder.op("func.return", [value.ir for value in values])
    return Program(title, builder.module(), mesh, inputs, outputs, in_tree, out_tree)


def _inputs(
    function: Callable[..., Any], args: Arguments, shardings: Any
) -> tuple[dict[str, TensorSpec], optree.PyTreeSpec]:
    """The specification of each argument by its name."""
    if not isinstance(args, (tuple, list, Mapping)):
        raise TraceTypeError(
            f"args: expected a tuple of the function's arguments, got {type(args).__name__}"
        )
    names = argument_names(function, *_split(args))
    leaves, in_tree = flatten(args)
    inputs = {}
    for name, leaf, sharding in zip(
        names, leaves, flatten_shardings(shardings, args, "in_shardings")
    ):
        spec = TensorSpec.of(leaf, f'argument "{name}"')
        inputs[name] = TensorSpec(spec.shape, spec.dtype, sharding or spec.sharding)
    return inputs, in_tree


def _split(args: Arguments) -> CallArguments:
    if isinstance(args, CallArguments):
        return args
    if isinstance(args, Mapping):
        return CallArguments((), args)
    return CallArguments(tuple(args), {})


def _call(
    function: Callable[..., Any],
    args: Arguments,
    in_tree: optree.PyTreeSpec,
    arguments: Sequence[ir.Value],
    inputs: Mapping[str, TensorSpec],
) -> Any:
    scope = current("trace").scopes[-1]
    values = [
        Value(argument, spec.dtype, scope) for argument, spec in zip(arguments, inputs.values())
    ]
    traced = unflatten(in_tree, values)
    if isinstance(args, CallArguments):
        return function(*traced.args, **traced.kwargs)
    return function(**traced) if isinstance(args, Mapping) else function(*traced)


def _outputs(
    result: Any, shardings: Any
) -> tuple[list[Value], dict[str, TensorSpec], optree.PyTreeSpec]:
    """The returned values and their specifications by name; numbers become constants."""
    leaves, out_tree = flatten(result)
    check(leaves, f"the function returns no value but {result!r}")
    names = result_names(result)
    values = [as_value(leaf, what=f'result "{name}"') for name, leaf in zip(names, leaves)]
    for value in values:
        check_visible(value, current("trace"))
    specs = [
        TensorSpec(value.shape, value.dtype, sharding)
        for value, sharding in zip(values, flatten_shardings(shardings, result, "out_shardings"))
    ]
    return values, dict(zip(names, specs)), out_tree


def _attributes(
    specs: Mapping[str, TensorSpec],
    mesh: Mesh | None,
    kind: str,
    known: Sequence[MeshSharding | None],
    donated: Sequence[bool] = (),
) -> list[dict[str, str | None]]:
    """What the runtime calls them, whether they are unsigned or donated, their shardings."""
    result: list[dict[str, str | None]] = []
    for number, (name, spec) in enumerate(specs.items()):
        result.append({"shoal.name": ir.quoted(name)})
        if dtypes.is_unsigned(spec.dtype):
            result[-1]["shoal.unsigned"] = None
        if donated and donated[number]:
            result[-1]["shoal.donated"] = None
        sharding = None
        if spec.sharding is not None:
            sharding = as_sharding(spec.sharding, spec.shape, mesh, f'{kind} "{name}"')
        elif mesh is not None and known and (given := known[number]) is not None:
            sharding = given.over([mesh])
        if sharding is not None:
            result[-1]["shoal.sharding"] = sharding.attribute()
    return result


def _location(function: Callable[..., Any]) -> ir.Location:
    """Where the function is defined; of one that is not Python's, where it is traced."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return user_location()
    return ir.Location(code.co_filename, code.co_firstlineno)
