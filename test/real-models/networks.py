# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of libraries, and the programs that are made of each.

    @network(split={"Dense_0.*kernel": P(None, "model"), "Dense_1.*kernel": P("model")})
    def mlp():
        net = nn.Sequential([nn.Dense(128), nn.relu, nn.Dense(32)])
        return Network(net.apply, net.init(KEY, x), (x,), loss=mean_square)

is three programs: `forward` and `step_2d` (a training step) over the mesh
data x model, with the parameters split as the patterns on their paths say, and
`step` over an axis of all devices that splits the batch alone.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import pkgutil
import re
import zlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from catalogue import UNSPECIFIED, Argument, P, Program

KEY = jax.random.key(0)

# Of a weight of shape (in, out).
COLUMNS, ROWS = P(None, "model"), P("model", None)
MESHES = {"forward": {"data": 4, "model": 2}, "step": {"data": 8}, "step_2d": {"data": 4, "model": 2}}
# Relative to a result's largest element: a step sums over all tokens, and
# divides by square roots of sums of squares.
TOLERANCES = {"forward": 1e-4, "step": 5e-4, "step_2d": 5e-4}


def mean_square(output, *_) -> jax.Array:
    return jnp.mean(jnp.square(output))


def label_loss(logits, *batch) -> jax.Array:
    """batch: inputs, and labels last."""
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch[-1]).mean()


def next_token_loss(logits, tokens, *_) -> jax.Array:
    losses = optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:])
    return losses.mean()


@dataclasses.dataclass(frozen=True)
class Network:
    """apply(parameters, *inputs) gives an output, loss(output, *inputs, *targets) a number.

    Inputs and targets have the batch first.
    """

    apply: Callable
    parameters: Any
    inputs: tuple
    targets: tuple = ()
    loss: Callable = mean_square
    optimizer: optax.GradientTransformation = optax.adamw(1e-3)


@dataclasses.dataclass(frozen=True)
class Given(Argument):
    """An argument that holds an array, whatever the seed."""

    given: np.ndarray | None = None

    def array(self, seed: int) -> np.ndarray:
        return self.given


class RealProgram:
    """What the conformance run asks of a program; built when it first asks.

    axes: the mesh, where it is not the kind's.
    """

    gspmd = x64 = False

    def __init__(
        self,
        name: str,
        family: str,
        kind: str,
        build: Callable[[], Network],
        split: dict[str, P],
        axes: dict[str, int] | None = None,
    ):
        self.name, self.family, self._kind, self._build = name, family, kind, build
        self.axes, self.tolerance = axes or MESHES[kind], TOLERANCES[kind]
        self._split = split if "model" in self.axes else {}

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(self._program, attribute)

    @functools.cached_property
    def _program(self) -> Program:
        network = self._build()
        parameters = _in_general_position(network.parameters, self.name)
        batch = network.inputs if self._kind == "forward" else network.inputs + network.targets
        if self._kind == "forward":
            state, function, out = (), network.apply, UNSPECIFIED
        else:
            state = _in_use(network.optimizer.init(parameters), self.name)
            function = _step(network)
            out = (*self._specs(parameters), *self._specs(state), P())
        kept = parameters if self._kind == "forward" else (parameters, state)
        structure = jax.tree.structure((kept, batch))
        specs = self._specs(kept) + [P("data") for _ in jax.tree.leaves(batch)]
        arguments = map(_given, jax.tree.leaves((kept, batch)), specs)

        def flat(*leaves):
            kept, batch = jax.tree.unflatten(structure, leaves)
            kept = (kept,) if self._kind == "forward" else kept
            return tuple(jax.tree.leaves(function(*kept, *batch)))

        return Program(self.name, self.family, flat, self.axes, tuple(arguments), out, self.tolerance)

    def _specs(self, tree: Any) -> list[P]:
        return [
            self._spec(jax.tree_util.keystr(path), np.shape(leaf))
            for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
        ]

    def _spec(self, path: str, shape: tuple[int, ...]) -> P:
        for pattern, spec in self._split.items():
            # What an optimiser keeps of a parameter may have another rank.
            if re.search(pattern, path) and len(shape) >= len(spec):
                return spec
        return P()


def _step(network: Network) -> Callable:
    def step(parameters, state, *batch):
        def loss(parameters):
            output = network.apply(parameters, *batch[: len(network.inputs)])
            return network.loss(output, *batch)

        value, gradients = jax.value_and_grad(loss)(parameters)
        updates, state = network.optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    return step


def _given(leaf: Any, spec: P) -> Given:
    array = np.asarray(leaf)
    return Given(array.shape, array.dtype, spec, "", array)


def _in_general_position(parameters: Any, name: str) -> Any:
    """Off the zeros and ones that they begin with, where gradients may be no more than rounding."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    return _with_floats(
        parameters, lambda leaf: leaf + 0.05 * random.standard_normal(leaf.shape).astype(leaf.dtype)
    )


def _in_use(state: Any, name: str) -> Any:
    """An optimiser's state as after some steps: moments that are not zero."""
    random = np.random.default_rng(zlib.crc32(name.encode()) + 1)
    return _with_floats(
        state, lambda leaf: (0.01 + 0.01 * random.random(leaf.shape)).astype(leaf.dtype)
    )


def _with_floats(tree: Any, change: Callable) -> Any:
    def one(leaf):
        leaf = np.asarray(leaf)
        return change(leaf) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(one, tree)


_programs: dict[str, RealProgram] = {}


def network(split: dict[str, P], kinds: tuple[str, ...] = tuple(MESHES)) -> Callable:
    """Enters a network; split: PartitionSpecs over "model" by patterns on paths of parameters."""

    def enter(build: Callable[[], Network]) -> Callable:
        family = build.__module__.split(".")[-1].rstrip("_")
        cached = functools.cache(build)
        for kind in kinds:
            name = f"{family}_{build.__name__}_{kind}"
            if name in _programs:
                raise ValueError(f"two programs are called {name}")
            _programs[name] = RealProgram(name, family, kind, cached, split)
        return build

    return enter


def names() -> list[str]:
    """FAMILY/NAME of all programs."""
    return [f"{program.family}/{name}" for name, program in _load().items()]


def find(name: str) -> RealProgram:
    return _load()[name]


def _load() -> dict[str, RealProgram]:
    package = importlib.import_module("models")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"models.{module.name}")
    return _programs


def initialised(shapes: Any) -> Any:
    """Numbers for a tree of shapes, about as large as initialisers make them.

    Nothing is compiled for them, which an initialiser's random numbers would be one by one.
    """

    def one(leaf):
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            raise ValueError(f"no numbers are known for {leaf}")
        if len(leaf.shape) < 2:
            return np.ones(leaf.shape, leaf.dtype)
        return (normal(*leaf.shape) / np.sqrt(leaf.shape[-2])).astype(leaf.dtype)

    return jax.tree.map(one, shapes)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(zlib.crc32(str(shape).encode())).standard_normal(shape, np.float32)


def integers(below: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(0, below, shape).astype(np.int32)
