# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `shoal.jax.jit` and `shoal.jax.compile` know of a function of JAX's and of its calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding

from shoal.calls import Source
from shoal.devices import Array
from shoal.jax.arrays import JaxArray, JaxSum, aval_of, make_weak, to_jax
from shoal.jax.calls import as_numbers, is_key, key_types
from shoal.jax.meshes import is_explicit, mesh_around, mesh_is, named, without_types
from shoal.jax.private import config, core, dtypes, jax_jit, partial_eval, source_info_util, tree_util
from shoal.jax.programs import write_program
from shoal.mesh_sharding import MeshSharding, recall

# What JAX says of a function's place is the caller's of this file.
source_info_util.register_exclusion(__file__)


def is_given(option: Any) -> bool:
    """Whether an option of jax.jit's says anything. (An empty PartitionSpec does.)"""
    return not (option is None or option is False or (type(option) is tuple and not option))


class JaxFrontend:
    """A function of JAX's, and the options of its jit."""

    def __init__(
        self,
        function: Callable[..., Any],
        jit_options: Mapping[str, Any],
        mesh: Any,
    ):
        given = {name: value for name, value in jit_options.items() if is_given(value)}
        self._function = function
        self._shardings = {name: given.pop(name) for name in _SHARDINGS if name in given}
        self._keeps_unused = given.pop("keep_unused", False)
        self._given = given
        self._mesh = mesh
        # JAX's own, without shardings: it names static arguments, and says what is wrong.
        is_jitted = not given and not self._shardings and hasattr(function, "_jit_info")
        self._jitted = function if is_jitted else jax.jit(function, **given)
        info = self._jitted._jit_info
        self._static_argnums, self._static_argnames = info.static_argnums, info.static_argnames
        # With shardings over a mesh.
        self._over_meshes: dict[Any, Any] = {}

    def flatten(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Hashable, Sequence[Any]] | None:
        if not core.trace_state_clean() or config.disable_jit.value:
            return None
        signature, arrays = jax_jit.parse_arguments(
            args,
            tuple(kwargs.values()),
            tuple(kwargs),
            self._static_argnums,
            self._static_argnames,
            tree_util.tracing_registry,
        )
        keys = tuple([a.key if isinstance(a, Array) else _key_of(a) for a in arrays])
        return (signature, config.trace_context(), keys), arrays

    def within(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = jax.tree.map(_for_jax, (args, kwargs))
        is_staged = isinstance(core.trace_ctx.trace, partial_eval.DynamicJaxprTrace)
        jitted = self._over(self._mesh or mesh_around()) if is_staged else self._jitted
        return jitted(*args, **kwargs)

    def types(self, key: Hashable, arrays: Sequence[Any]) -> Hashable:
        signature, context, _ = key
        return signature, context, tuple(map(_type_of, arrays))

    def is_abstract(self, arrays: Sequence[Any]) -> bool:
        return any(isinstance(array, jax.ShapeDtypeStruct) for array in arrays)

    def conversions(self, arrays: Sequence[Any]) -> Mapping[int, Callable[[Any], Any]]:
        found = ((number, _conversion_of(array)) for number, array in enumerate(arrays))
        return {number: convert for number, convert in found if convert is not None}

    def trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> JaxTraced:
        mesh = self._mesh or mesh_around()
        static = {number % len(args) for number in self._static_argnums if number < len(args)}
        shapes = [arg if i in static else jax.tree.map(_shape_of, arg) for i, arg in enumerate(args)]
        named_shapes = {
            name: arg if name in self._static_argnames else jax.tree.map(_shape_of, arg)
            for name, arg in kwargs.items()
        }
        dynamic = [number for number in range(len(shapes)) if number not in static]
        plain = [shapes[number] for number in dynamic]
        typed = self._with_types(mesh, plain)
        for number, shape in zip(dynamic, typed, strict=True):
            shapes[number] = shape
        try:
            return self._trace_over(mesh, shapes, named_shapes)
        except core.ShardingTypeError:
            if all(a is b for a, b in zip(jax.tree.leaves(typed), jax.tree.leaves(plain), strict=True)):
                raise
        # JAX, for which plain arrays are replicated, may take the program: one without types, whose axes might
        # as well be Auto, if it names no mesh of its own.
        for number, shape in zip(dynamic, plain, strict=True):
            shapes[number] = shape
        try:
            return self._trace_over(without_types(mesh), shapes, named_shapes)
        except (core.ShardingTypeError, ValueError):
            return self._trace_over(mesh, shapes, named_shapes)

    def _with_types(self, mesh: Any, shapes: Sequence[Any]) -> Sequence[Any]:
        if not is_explicit(mesh) or "in_shardings" not in self._shardings:
            return shapes
        return _typed(shapes, named(mesh, self._shardings["in_shardings"]))

    def _trace_over(self, mesh: Any, shapes: Sequence[Any], named_shapes: Mapping[str, Any]) -> JaxTraced:
        with mesh_is(self._to_set(mesh)):
            traced = self._over(mesh).trace(*shapes, **named_shapes)
        return JaxTraced(traced, mesh, self)

    def _to_set(self, mesh: Any) -> Any:
        """The mesh, or None where the caller has set it."""
        return self._mesh if mesh in (self._mesh, mesh_around()) else mesh

    def _over(self, mesh: Any) -> Any:
        """JAX's jit of the function with its shardings over the mesh."""
        if not self._shardings:
            return self._jitted
        if mesh not in self._over_meshes:
            shardings = {name: named(mesh, value) for name, value in self._shardings.items()}
            self._over_meshes[mesh] = jax.jit(self._function, **self._given, **shardings)
        return self._over_meshes[mesh]

    def write(self, traced: Any, mesh: Any, inputs: Any, outputs: Any) -> Source:
        with mesh_is(self._to_set(mesh)):
            program = write_program(
                traced, mesh, keep_unused=self._keeps_unused, inputs=inputs, outputs=outputs or ()
            )
        return Source(
            program.name,
            program.text,
            program.devices,
            program.structure,
            _result_of(traced),
            program.kept,
            program.callbacks.functions,
        )


def _typed(shapes: Sequence[Any], in_shardings: Any) -> Sequence[Any]:
    """The arguments with the types that in_shardings, a prefix of them, say: plain arrays would be replicated
    in all that JAX derives from them. Those that have a sharding of their own keep it."""

    def typed(sharding: Any, shape: Any) -> Any:
        is_plain = isinstance(shape, jax.ShapeDtypeStruct) and shape.sharding is None
        if not is_plain or not isinstance(sharding, NamedSharding):
            return shape
        return shape.update(sharding=sharding)

    is_leaf = lambda x: x is None or isinstance(x, jax.sharding.Sharding)  # noqa: E731
    prefix = in_shardings if isinstance(in_shardings, (tuple, list)) else (in_shardings,) * len(shapes)
    return jax.tree.map(
        lambda sharding, part: jax.tree.map(lambda shape: typed(sharding, shape), part),
        tuple(prefix), tuple(shapes), is_leaf=is_leaf,
    )  # fmt: skip


class JaxTraced:
    """What JAX has traced, over a mesh if there is one."""

    def __init__(self, traced: Any, mesh: Any, frontend: JaxFrontend):
        self.traced = traced
        self._mesh = mesh
        self._frontend = frontend

    @property
    def shapes(self) -> Any:
        return self.traced.out_info

    def write(
        self, inputs: Sequence[MeshSharding | None], outputs: Sequence[MeshSharding] | None
    ) -> Source:
        return self._frontend.write(self.traced, self._mesh, inputs, outputs)


_SHARDINGS = ("in_shardings", "out_shardings")


# Keys and types of arrays


class _Invalid:
    """The key of what is no array: JAX says so when it traces."""


def _key_of(array: Any) -> Hashable:
    kind = type(array)
    if kind is np.ndarray:
        return array.shape, array.dtype
    if kind is jax.ShapeDtypeStruct:
        return kind, array
    try:
        return kind, _type_of(array)
    except (TypeError, ValueError, OverflowError):
        return _Invalid()


def _type_of(array: Any) -> Hashable:
    """What programs differ by: the type in JAX, and a sharding over devices of JAX's."""
    if isinstance(array, Array):
        return aval_of(array), None
    try:
        return core.shaped_abstractify(array), _sharding_of(array)
    except (TypeError, ValueError, OverflowError):
        return _Invalid()


def _sharding_of(array: Any) -> NamedSharding | None:
    """That of an array over several devices of JAX's, or of an abstract one; ours are known by their placements."""
    sharding = None if isinstance(array, Array) else getattr(array, "sharding", None)
    return sharding if isinstance(sharding, NamedSharding) and sharding.mesh.size > 1 else None


def _shape_of(array: Any) -> Any:
    """An abstract array for one that has numbers; Python's numbers have weak types as they are."""
    if isinstance(array, (np.ndarray, np.generic, jax.Array, Array)):
        aval = core.shaped_abstractify(array)
        return jax.ShapeDtypeStruct(
            aval.shape, aval.dtype, sharding=_sharding_of(array), weak_type=aval.weak_type
        )
    return array


def _conversion_of(array: Any) -> Callable[[Any], Any] | None:
    """What makes NumPy's array of the program's type; None: it is one, or on the devices."""
    if isinstance(array, (Array, jax.ShapeDtypeStruct)):
        return None
    dtype = core.shaped_abstractify(array).dtype
    if type(array) is np.ndarray and array.dtype == dtype and dtype != dtypes.float0:
        return None
    if dtype == dtypes.float0:
        return _zeros
    return as_numbers if is_key(dtype) else functools.partial(_as_numbers, dtype)


def _as_numbers(dtype: np.dtype, array: Any) -> np.ndarray:
    return np.asarray(array, dtype)


def _zeros(array: Any) -> np.ndarray:
    """Of tangents of integers, which have no numbers, the program has bools."""
    return np.zeros(array.shape, bool)


def _for_jax(array: Any) -> Any:
    return to_jax(array) if isinstance(array, Array) else array


def _result_of(traced: Any) -> Callable[[list[Array]], Any]:
    """The call's result of a program's, some of which JAX has in other types."""
    avals = traced.jaxpr.out_avals
    weak = [number for number, aval in enumerate(avals) if getattr(aval, "weak_type", False)]
    keys = [(number, key) for number, key in enumerate(key_types(avals)) if key]
    empty = [number for number, aval in enumerate(avals) if aval.dtype == dtypes.float0]
    unflatten = traced.out_tree.unflatten

    def result(arrays: list[Any]) -> Any:
        for array in arrays:
            sharding = recall(array.placement)
            array.__class__ = JaxSum if sharding and sharding.is_addends else JaxArray
        for number in weak:
            make_weak(arrays[number])
        for number, key in keys:
            arrays[number] = jax.random.wrap_key_data(np.asarray(arrays[number]), impl=key)
        for number in empty:
            arrays[number] = np.zeros(avals[number].shape, dtypes.float0)
        return unflatten(arrays)

    return result
