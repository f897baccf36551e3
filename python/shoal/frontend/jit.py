# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of the frontend that run on devices that stay."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.calls import Jitted, Source, check_options
from shoal.calls.statics import exact
from shoal.devices import Array, Devices
from shoal.errors import TraceError, TraceTypeError
from shoal.frontend import pytrees
from shoal.frontend.calls import TracedCall
from shoal.frontend.core import is_tracing
from shoal.frontend.tracing import CallArguments, Program, TensorSpec, trace_program
from shoal.laws import CALLABLE, check_arguments, instance_of, or_none, shown
from shoal.mesh import Mesh
from shoal.mesh_sharding import MeshSharding

__all__ = ["jit"]


def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    mesh: Mesh | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    donate_argnames: str | Sequence[str] = (),
    devices: Devices | None = None,
    target: str = "cpu",
    **options: Any,
) -> Any:
    """A function whose calls run on the devices of a mesh, on one without it.

    function: as `trace` takes it. Without it a decorator with these options.
    in_shardings, out_shardings: as in `trace`; the former are of positional arguments. A result that has the form of
      an argument, a tree of its structure, shapes and types or a donated array, lies as that does where neither says
      otherwise: a state comes back where the next call takes it.
    static_argnums, static_argnames: parameters whose values are part of the program: they hash,
      and each gets a program of its own.
    donate_argnums, donate_argnames: parameters whose arrays' memory results may be made in;
      `shoal.Array`s among them are deleted by the call.
    devices: of `launch`; by default those of this process.
    options: fields of CompileOptions.

    A call's arguments are trees of arrays and numbers, taken where they lie if they are
    `shoal.Array`s; results are trees of these. Called in a function that is traced it is a part
    of that one. Raises TraceError, CompileError, InputError and RunError.
    """
    options["target"] = target
    check_options(options)
    check_arguments(
        "jit", function=(function, or_none(CALLABLE)), mesh=(mesh, or_none(instance_of(Mesh, what="a shoal.Mesh"))),
        devices=(devices, or_none(instance_of(Devices, what="devices of shoal.launch"))),
    )  # fmt: skip

    def decorate(function: Callable[..., Any]) -> Jitted:
        check_arguments("jit", function=(function, CALLABLE))
        static = _Parameters.of(function, static_argnums, static_argnames, "static")
        donated = _Parameters.of(function, donate_argnums, donate_argnames, "donate")
        frontend = TracingFrontend(
            function,
            static,
            donated,
            mesh=mesh,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
        )
        return Jitted(function, frontend, options, devices)

    return decorate if function is None else decorate(function)


class _Parameters:
    """Some of a function's, wherever a call has them."""

    def __init__(self, numbers: frozenset[int], names: frozenset[str]):
        self.numbers = numbers
        self.names = names

    @staticmethod
    def of(
        function: Callable[..., Any],
        numbers: int | Sequence[int],
        names: str | Sequence[str],
        what: str,
    ) -> _Parameters:
        """A parameter that has a number and a name is found by both."""
        numbers = {numbers} if isinstance(numbers, int) else set(numbers)
        names = {names} if isinstance(names, str) else set(names)
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            return _Parameters(frozenset(numbers), frozenset(names))
        parameters = list(signature.parameters.values())
        positional = [p.name for p in parameters if p.kind in _POSITIONAL]
        takes_any = {p.kind for p in parameters}
        title = getattr(function, "__name__", "the function")
        for number in sorted(numbers):
            if not -len(positional) <= number < len(positional) and (
                inspect.Parameter.VAR_POSITIONAL not in takes_any
            ):
                raise TraceError(
                    f"{what}_argnums: {title}{signature} has no positional parameter {number}"
                )
        for name in sorted(names):
            if name not in signature.parameters and (
                inspect.Parameter.VAR_KEYWORD not in takes_any
            ):
                raise TraceError(f'{what}_argnames: {title}{signature} has no parameter "{name}"')
        numbers = {n % len(positional) if -len(positional) <= n < 0 else n for n in numbers}
        found = {n: positional[n] for n in numbers if n < len(positional)}
        found |= {positional.index(name): name for name in names if name in positional}
        return _Parameters(frozenset(numbers | set(found)), frozenset(names | {*found.values()}))

    def __bool__(self) -> bool:
        return bool(self.numbers or self.names)


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class TracingFrontend:
    """A function of the frontend, and the options of its jit."""

    def __init__(
        self,
        function: Callable[..., Any],
        static: _Parameters,
        donated: _Parameters,
        *,
        mesh: Mesh | None,
        in_shardings: Any,
        out_shardings: Any,
    ):
        self._function = function
        self._static = static
        self._donated = donated
        self._mesh = mesh
        self._in_shardings = in_shardings
        self._out_shardings = out_shardings

    def flatten(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Hashable, Sequence[Any]] | None:
        if is_tracing():
            return None
        values: tuple[Any, ...] = ()
        if self._static:
            args, kwargs, values = self._without_static(args, kwargs)
        arrays, tree = pytrees.flatten((args, kwargs))
        keys = tuple([a.key if isinstance(a, Array) else _key_of(a) for a in arrays])
        return (tree, (values, tuple(exact(value) for *_, value in values)), keys), arrays

    def _without_static(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]:
        """A call with None for static arguments, and these: (number or name, type, value)."""
        numbers, names = self._static.numbers, self._static.names
        values = [(i, type(arg), arg) for i, arg in enumerate(args) if i in numbers]
        values += [(name, type(arg), arg) for name, arg in sorted(kwargs.items()) if name in names]
        for place, kind, value in values:
            try:
                hash(value)
            except TypeError:
                raise TraceTypeError(
                    f"static argument {place!r}: expected a value that hashes but got "
                    f"{shown(value)} of {kind.__name__}"
                ) from None
        return (
            tuple(None if i in numbers else arg for i, arg in enumerate(args)),
            {name: None if name in names else arg for name, arg in kwargs.items()},
            tuple(values),
        )

    def within(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._function(*args, **kwargs)

    def types(self, key: Hashable, arrays: Sequence[Any]) -> Hashable:
        tree, values, _ = key
        return tree, values, tuple(map(_type_of, arrays))

    def is_abstract(self, arrays: Sequence[Any]) -> bool:
        return any(isinstance(array, TensorSpec) for array in arrays)

    def conversions(self, arrays: Sequence[Any]) -> Mapping[int, Callable[[Any], Any]]:
        # A float64 of NumPy is Python's float, in programs a float32.
        return {i: float for i, array in enumerate(arrays) if isinstance(array, np.float64)}

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> TracedFunction:
        function, values = self._function, ()
        if self._static:
            args, kwargs, values = self._without_static(args, kwargs)
            function = _with_static(function, values)
        # The function's programs are written from types: no array is kept.
        names = iter(pytrees.argument_names(function, args, kwargs))
        args, kwargs = pytrees.map_leaves(
            lambda leaf: TensorSpec.of(leaf, f'argument "{next(names)}"'), (args, kwargs)
        )
        donated = [
            *(i in self._donated.numbers for i, arg in enumerate(args) for _ in _leaves(arg)),
            *(name in self._donated.names for name in sorted(kwargs) for _ in _leaves(kwargs[name])),
        ]
        trace = functools.partial(
            trace_program,
            function,
            CallArguments(args, kwargs) if kwargs else args,
            name=getattr(self._function, "__name__", None),
            donated=donated,
            in_shardings=self._shardings_of_inputs(values, bool(kwargs)),
            out_shardings=self._out_shardings,
            comes_back=True,
        )
        return TracedFunction(trace, self._mesh)

    def _shardings_of_inputs(self, static: Sequence[Any], has_keywords: bool) -> Any:
        """With None where a call has None for a static argument."""
        shardings = self._in_shardings
        if isinstance(shardings, (tuple, list)):
            shardings = list(shardings)
            for place in sorted(place for place, *_ in static if isinstance(place, int)):
                shardings.insert(place, None)
            shardings = tuple(shardings)
        return CallArguments(shardings, None) if has_keywords and shardings is not None else shardings


class TracedFunction:
    """A function for arguments of some types. It is traced for each of its programs."""

    def __init__(self, trace: Callable[..., Program], mesh: Mesh | None):
        self._trace = trace
        self._mesh = mesh

    @property
    def shapes(self) -> Any:
        program = self._trace(mesh=self._mesh)
        return pytrees.unflatten(program.out_tree, list(program.outputs.values()))

    def write(
        self, inputs: Sequence[MeshSharding | None], outputs: Sequence[MeshSharding] | None
    ) -> Source:
        mesh = self._mesh or next((given.mesh for given in inputs if given is not None), None)
        program = self._trace(mesh=mesh, inputs=inputs, outputs=outputs or ())
        structure = TracedCall(program)
        return Source(
            f"<{program.name}>",
            program.text,
            mesh.size if mesh else 1,
            structure,
            structure.unflatten,
        )


def _with_static(function: Callable[..., Any], values: Sequence[Any]) -> Callable[..., Any]:
    """The function of calls that have None in the place of these values."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        args = list(args)
        for place, _, value in values:
            if isinstance(place, int):
                args[place] = value
            else:
                kwargs[place] = value
        return function(*args, **kwargs)

    return called


def _leaves(tree: Any) -> list[Any]:
    return pytrees.flatten(tree)[0]


def _key_of(array: Any) -> Hashable:
    kind = type(array)
    return (array.shape, array.dtype) if kind is np.ndarray else (kind, _type_of(array))


class _Invalid:
    """The type of what is no array: tracing says so, with the argument's name."""


def _type_of(array: Any) -> Hashable:
    """What programs differ by."""
    try:
        spec = TensorSpec.of(array)
    except TraceTypeError:
        return _Invalid()
    return spec.shape, spec.dtype, spec.sharding
