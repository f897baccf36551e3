# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX functions as compiled programs.

    mesh = jax.sharding.AbstractMesh((2, 4), ("data", "model"))
    rows = NamedSharding(mesh, P("data"))
    exe = shoal.jax.compile(layer, x, w, in_shardings=(rows, None))
    y = exe.run(x, w)          # starts mpirun -n 8

An AbstractMesh needs no devices. With a Mesh, JAX must have as many: set
XLA_FLAGS=--xla_force_host_platform_device_count=8 before importing it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src import source_info_util
from jax.sharding import NamedSharding, PartitionSpec

from shoal.errors import InputError, TraceError
from shoal.executable import CallStructure, Executable, Session, compile_text
from shoal.jax.callbacks import Callbacks
from shoal.jax.lowering import lower
from shoal.jax.stablehlo import import_stablehlo
from shoal.mesh import Mesh

# What JAX says of a function's place is the caller's of this file.
source_info_util.register_exclusion(__file__)


class Compiled:
    """A JAX function, compiled for the devices of its mesh.

    executable: the program itself, to save, and to run with a time limit: its
    inputs are the tuple of a call's arguments.
    """

    def __init__(self, executable: Executable):
        self.executable = executable

    def run(self, *arguments: Any, **keywords: Any) -> Any:
        """The function's result for whole arrays, in processes that mpirun starts.

        Arguments nest as the example's did, without the static ones; arrays of
        NumPy or JAX of the same shapes and types. The result nests as the
        function's, with NumPy's arrays.
        Raises InputError, and RunError with what processes wrote.
        """
        return self.executable.run((arguments, keywords) if keywords else arguments)

    __call__ = run

    def open(self, comm: Any = None) -> Session:
        """The program in this process of an MPI job; see Executable.open."""
        return self.executable.open(comm)

    def save(self, path: Any) -> None:
        """Writes it to one file, for `shoal.load`."""
        self.executable.save(path)

    @property
    def devices(self) -> int:
        return self.executable.devices

    @property
    def text(self) -> str:
        """The imported program, in Shoal MLIR."""
        return self.executable.text

    @property
    def stats(self) -> dict[str, Any]:
        """Collectives, bytes sent, memory and flops of one device."""
        return self.executable.stats

    def spmd(self) -> str:
        """The program of one device, in MLIR."""
        return self.executable.spmd()

    def report(self, *arguments: Any, **keywords: Any) -> Any:
        """A page that shows the partitioned program; see Executable.report."""
        return self.executable.report(*arguments, **keywords)

    def __repr__(self) -> str:
        return repr(self.executable)


class JaxStructure(CallStructure):
    """Pytrees, also of containers that files do not know."""

    def __init__(self, in_tree: Any, out_tree: Any, out_keys: Sequence[Any]):
        super().__init__(_arguments(_plain(in_tree)), _plain(out_tree))
        self._in_tree = in_tree
        self._out_tree = out_tree
        # The implementation of each result that is an array of PRNG keys.
        self._out_keys = out_keys

    def flatten(self, inputs: Any) -> list[Any]:
        if not _is_call(inputs):
            inputs = (tuple(inputs) if isinstance(inputs, list) else inputs, {})
        leaves, tree = jax.tree.flatten(inputs)
        if tree != self._in_tree:
            raise InputError(f"inputs: expected {self._in_tree} but got {tree}")
        return [_array(leaf) for leaf in leaves]

    def unflatten(self, outputs: Sequence[Any]) -> Any:
        leaves = [
            jax.random.wrap_key_data(array, impl=key) if key else array
            for array, key in zip(outputs, self._out_keys)
        ]
        return jax.tree.unflatten(self._out_tree, leaves)


def _arguments(call: Any) -> Any:
    """Of the pair (arguments, keywords) that JAX's calls are, the first alone where that is all."""
    arguments, keywords = call["tuple"]
    return call if keywords["dict"] else arguments


def compile(
    function: Callable,
    *example: Any,
    in_shardings: Any = None,
    out_shardings: Any = None,
    mesh: Any = None,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    target: str = "cpu",
    **options: Any,
) -> Compiled:
    """Compiles a function, of arrays or pytrees of them, for the devices of its mesh.

    function: one that jax.jit takes, or jitted already; then its own shardings
      and static arguments hold.
    example: arguments with the shapes and types of the program's: arrays or
      ShapeDtypeStructs; their NamedShardings count where in_shardings has None.
    in_shardings, out_shardings: as in jax.jit; with `mesh`, also PartitionSpecs.
    mesh: JAX's, Mesh or AbstractMesh; needed where no sharding names one.
    donate_argnums: the program makes results in these arguments' memory; a
      caller's arrays are left as they are.
    options: fields of shoal.CompileOptions.

    Raises TraceError where there is no mesh or a shape is not static,
    UnsupportedError for ops that have no counterpart, CompileError with the
    compiler's messages, and what JAX raises while it traces.
    """
    _check_static(example)
    jit_options = {
        "in_shardings": _over(mesh, in_shardings),
        "out_shardings": _over(mesh, out_shardings),
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
    }
    with _ambient(mesh):
        traced = _jitted(function, jit_options).trace(*jax.tree.map(_shape_of, example))
        # Arguments that nothing reads stay: a call has them, too.
        traced._params["keep_unused"] = True  # pylint: disable=protected-access
        callbacks = Callbacks()
        lowered = lower(traced, callbacks)
    devices = None if mesh is None else Mesh(dict(mesh.shape))
    text = import_stablehlo(lowered, mesh=devices, callbacks=callbacks)
    if '"shoal.mesh"' not in text:
        raise TraceError(
            "no mesh: pass in_shardings of NamedSharding, or mesh=, for instance"
            ' jax.sharding.AbstractMesh((8,), ("x",))'
        )
    structure = JaxStructure(lowered.in_tree, lowered.out_tree, _key_types(lowered.out_info))
    name = getattr(function, "__name__", "function")
    functions = callbacks.functions
    return Compiled(
        compile_text(
            text, target, source=name, structure=structure, host_functions=functions, **options
        )
    )


def _jitted(function: Callable, jit_options: dict[str, Any]) -> Any:
    given = {name: value for name, value in jit_options.items() if value not in (None, ())}
    if not hasattr(function, "trace"):
        return jax.jit(function, **given)
    if given:
        raise TraceError(f"the function is jitted already: give {', '.join(given)} to jax.jit")
    return function


def _shape_of(leaf: Any) -> Any:
    """Arrays as their types, so that no device need hold them."""
    if isinstance(leaf, np.ndarray):
        return jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype))
    if isinstance(leaf, jax.Array):
        sharding = leaf.sharding if isinstance(leaf.sharding, NamedSharding) else None
        return jax.ShapeDtypeStruct(
            leaf.shape, leaf.dtype, sharding=sharding, weak_type=leaf.aval.weak_type
        )
    return leaf


def _ambient(mesh: Any) -> contextlib.AbstractContextManager[Any]:
    """The mesh that PartitionSpecs inside of the function mean."""
    if mesh is None:
        return contextlib.nullcontext()
    return jax.sharding.use_abstract_mesh(getattr(mesh, "abstract_mesh", mesh))


def _over(mesh: Any, shardings: Any) -> Any:
    """PartitionSpecs as NamedShardings over the mesh."""

    def named(sharding: Any) -> Any:
        if not isinstance(sharding, PartitionSpec):
            return sharding
        if mesh is None:
            raise TraceError(f"{sharding}: a PartitionSpec needs mesh=, or use a NamedSharding")
        return NamedSharding(mesh, sharding)

    def is_leaf(leaf: Any) -> bool:
        return leaf is None or isinstance(leaf, PartitionSpec)

    return None if shardings is None else jax.tree.map(named, shardings, is_leaf=is_leaf)


def _check_static(example: Sequence[Any]) -> None:
    for path, leaf in jax.tree_util.tree_leaves_with_path(tuple(example)):
        for size in getattr(leaf, "shape", ()):
            if not isinstance(size, (int, np.integer)):
                place = f"argument{jax.tree_util.keystr(path)}"
                raise TraceError(f"{place}: size {size} of {leaf.shape} is not static")


def _is_call(inputs: Any) -> bool:
    """Whether inputs are positional and keyword arguments, not the former alone."""
    is_pair = isinstance(inputs, tuple) and len(inputs) == 2
    return is_pair and isinstance(inputs[0], tuple) and isinstance(inputs[1], dict)


def _array(leaf: Any) -> Any:
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf


def _key_types(out_info: Any) -> list[Any]:
    """What jax.random.wrap_key_data needs to know, or None for arrays of numbers."""
    leaves = jax.tree.leaves(out_info)
    is_key = [jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in leaves]
    return [
        str(leaf.dtype._impl.name) if key else None  # pylint: disable=protected-access
        for leaf, key in zip(leaves, is_key)
    ]


def _plain(tree: Any) -> Any:
    """A pytree's structure as CallStructure spells it; other containers are lists."""
    data = tree.node_data()
    if data is None:
        return "*"
    kind, keys = data
    if kind is type(None):
        return None
    children = [_plain(child) for child in tree.children()]
    if kind is dict and all(isinstance(key, str) for key in keys):
        return {"dict": dict(zip(keys, children))}
    return {"tuple" if kind is tuple else "list": children}
