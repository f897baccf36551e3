# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the conformance run: what names, shapes and shards them.

    @program("x=2 y=4", "f32[8@x,16] f32[16,32@y]", out=P("x", "y"))
    def matmul_rows_and_columns(x, w):
        return x @ w

An argument is a type, its sizes and the mesh axes over each (`8@x+y`), and
what it holds where that is not normal random numbers: `i32[6]<10` integers from
0 to 9, `f32[4]>0` positive numbers, `key` a PRNG key.
`out` is a PartitionSpec or a pytree of them; without one the compiler chooses.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import re
import zlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

P = PartitionSpec
_FLOATS = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16"}
_TYPES = {
    **_FLOATS,
    "c64": "complex64",
    "c128": "complex128",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
    "pred": "bool",
}
UNSPECIFIED = object()
_current_mesh: jax.sharding.Mesh | None = None
_programs: dict[str, "Program"] = {}


@dataclasses.dataclass(frozen=True)
class Argument:
    """shape and element type, its PartitionSpec, None to choose, and what it holds."""

    shape: tuple[int, ...]
    dtype: np.dtype
    spec: PartitionSpec | None
    values: str

    def array(self, seed: int) -> np.ndarray:
        """Numbers that depend on the seed alone."""
        random = np.random.default_rng(seed)
        if self.values == "key":
            return random.integers(0, 2**32, self.shape, np.uint32)
        if self.values.startswith("<"):
            return random.integers(0, int(self.values[1:]), self.shape).astype(self.dtype)
        if self.dtype == bool:
            return random.random(self.shape) < 0.5
        if np.issubdtype(self.dtype, np.integer):
            low = 0 if np.issubdtype(self.dtype, np.unsignedinteger) else -50
            return random.integers(low, 50, self.shape).astype(self.dtype)
        numbers = random.standard_normal(self.shape)
        if np.issubdtype(self.dtype, np.complexfloating):
            numbers = numbers + 1j * random.standard_normal(self.shape)
        return (np.abs(numbers) + 0.1 if self.values == ">0" else numbers).astype(self.dtype)


@dataclasses.dataclass(frozen=True)
class Program:
    """A JAX function, its arguments and shardings.

    tolerance: how far a result may be off, relative to its largest element;
    None is the type's own. gradient_tolerance: the same of derivatives made here, None
    is twice that of results, as gradients cancel. gspmd: lowered with GSPMD's shardings, not Shardy's.
    """

    name: str
    family: str
    function: Callable
    axes: dict[str, int]
    arguments: tuple[Argument, ...]
    out: Any = UNSPECIFIED
    tolerance: float | None = None
    gradient_tolerance: float | None = None
    gspmd: bool = False
    x64: bool = False

    def mesh(self) -> jax.sharding.Mesh:
        types = (AxisType.Auto,) * len(self.axes)
        return jax.make_mesh(tuple(self.axes.values()), tuple(self.axes), axis_types=types)

    def arrays(self) -> list[np.ndarray]:
        seed = zlib.crc32(self.name.encode())
        return [argument.array(seed + i) for i, argument in enumerate(self.arguments)]

    def traced(self, mesh: jax.sharding.Mesh, **jit_options) -> jax.stages.Traced:
        """With its shardings."""
        _set_mesh(mesh)
        shardings = tuple(
            None if argument.spec is None else NamedSharding(mesh, argument.spec)
            for argument in self.arguments
        )
        keywords = {}
        if self.out is not UNSPECIFIED:
            keywords["out_shardings"] = jax.tree.map(
                lambda spec: NamedSharding(mesh, spec),
                self.out,
                is_leaf=lambda leaf: isinstance(leaf, PartitionSpec),
            )
        jitted = jax.jit(
            self._fresh(), in_shardings=shardings, keep_unused=True, **keywords, **jit_options
        )
        return jitted.trace(*self._shapes())

    def on_one_device(self) -> jax.stages.Compiled:
        """Compiled by JAX without shardings."""
        _set_mesh(None)
        return jax.jit(self._fresh(), keep_unused=True).lower(*self._shapes()).compile()

    def result_paths(self) -> list[str]:
        """Where each result is in the tree of results, as JAX spells it: `['w'][0]`."""
        _set_mesh(None)
        tree = jax.eval_shape(self._fresh(), *self._shapes())
        return [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]

    def _fresh(self) -> Callable:
        # A function of its own: JAX keeps traces by function, and annotations
        # differ between the ways to run.
        function = self.function
        return lambda *arguments: function(*arguments)

    def _shapes(self) -> list[jax.ShapeDtypeStruct]:
        return [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in self.arguments]


def _set_mesh(mesh: jax.sharding.Mesh | None) -> None:
    global _current_mesh
    _current_mesh = mesh


def at(x, *spec):
    """A sharding constraint over the program's mesh; the identity on one device."""
    if _current_mesh is None:
        return x
    return jax.lax.with_sharding_constraint(x, NamedSharding(_current_mesh, P(*spec)))


def on_devices(manual: Callable, whole: Callable, in_specs, out_specs, **keywords) -> Callable:
    """`manual` under shard_map over the mesh; on one device `whole`, which says the same."""

    def function(*arguments):
        if _current_mesh is None:
            return whole(*arguments)
        mapped = jax.shard_map(
            manual,
            mesh=_current_mesh,
            in_specs=in_specs,
            out_specs=out_specs,
            check_vma=False,
            **keywords,
        )
        return mapped(*arguments)

    return function


def program(mesh: str, arguments: str = "", **properties) -> Callable:
    """Enters a function as a program; see the module's text."""

    def enter(function: Callable) -> Callable:
        name = function.__name__
        if name in _programs:
            raise ValueError(f"two programs are called {name}")
        _programs[name] = Program(
            name,
            function.__module__.split(".")[-1],
            function,
            {axis: int(size) for axis, size in (part.split("=") for part in mesh.split())},
            tuple(map(_argument, arguments.split())),
            **properties,
        )
        return function

    return enter


def _argument(text: str) -> Argument:
    if text == "key":
        return Argument((2,), np.dtype(np.uint32), P(), "key")
    element, dims, values = re.fullmatch(r"(\w+)\[([^\]]*)\](.*)", text).groups()
    parts = [dim.partition("@") for dim in dims.split(",") if dim]
    spec = [tuple(axes.split("+")) if axes else None for _, _, axes in parts]
    shape = tuple(int(size) for size, _, _ in parts)
    return Argument(shape, jnp.dtype(_TYPES[element]), P(*spec), values)


def load() -> dict[str, Program]:
    """All programs, by name."""
    package = importlib.import_module("programs")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"programs.{module.name}")
    return _programs


def names() -> list[str]:
    """FAMILY/NAME of all programs."""
    return [f"{program.family}/{name}" for name, program in load().items()]


def find(name: str) -> Program:
    return load()[name]
