# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Another system's parallel training step beside Shoal's and beside one device, gradient by gradient.

    report = shoal.torch.check(module, loss, batch, mesh=mesh, params=plan, inputs=P("data"), against="dtensor")
    print(report)                    # a line a leaf; the first that differs, and where
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from shoal.errors import InputError, TraceTypeError
from shoal.executable import compile_text
from shoal.frontend.annotations import P
from shoal.mesh import Mesh
from shoal.moe import Layout
from shoal.torch.calls import Call
from shoal.torch.derivatives import PREFIX, write_gradients
from shoal.torch.peers import run_peers
from shoal.torch.settings import Settings
from shoal.torch.shardings import of_arguments, of_state
from shoal.torch.sources import state_of
from shoal.torch.tensors import to_numpy
from shoal.torch.train import graph_of_loss

NORM = "grad_norm"


class Apart(NamedTuple):
    """How far an array is from one device's.

    error: the largest difference over the largest element that is expected; infinite where there is no array or not a finite one.
    where: the index of that element. got, expected: what is there. rank: of the process that has it; None: of all.
    """

    error: float
    where: tuple[int, ...]
    got: float | None
    expected: float
    rank: int | None = None

    def __str__(self) -> str:
        if self.got is None:
            return "has none" if self.rank is None else f"process {self.rank} has none"
        owner = "" if self.rank is None else f" of process {self.rank}"
        return f"{self.error:.1e} at {list(self.where)}{owner}: {self.got:.6g}, expected {self.expected:.6g}"


class Leaf(NamedTuple):
    """One that is compared: "loss", the gradient of a parameter by its name, or "grad_norm"."""

    name: str
    shape: tuple[int, ...]
    ours: Apart
    theirs: Apart


class Report:
    """What `check` gives.

    leaves: in the module's order. tolerance: of relative errors.
    """

    def __init__(self, leaves: Sequence[Leaf], tolerance: float):
        self.leaves = tuple(leaves)
        self.tolerance = tolerance

    @property
    def differing(self) -> list[Leaf]:
        """Those of which the other system or Shoal is not what one device has."""
        return [leaf for leaf in self.leaves if not max(leaf.ours.error, leaf.theirs.error) <= self.tolerance]

    @property
    def first(self) -> Leaf | None:
        """The first that differs; None: none does."""
        return next(iter(self.differing), None)

    def __str__(self) -> str:
        lines = [f"{leaf.name} {list(leaf.shape)}: ours {leaf.ours.error:.1e}, theirs {leaf.theirs.error:.1e}" for leaf in self.leaves]
        if self.first is None:
            return "\n".join([*lines, f"all {len(lines)} leaves agree with one device within {self.tolerance:.0e}"])
        kind = "ours" if not self.first.ours.error <= self.tolerance else "theirs"
        what = f'the first of {len(self.differing)} that differ: "{self.first.name}": {kind} {getattr(self.first, kind)}'
        return "\n".join([*lines, what])


def check(
    module: torch.nn.Module,
    loss: Callable[[torch.nn.Module, Any], Any],
    batch: Any,
    *,
    mesh: Mesh,
    params: Mapping[str, Any] | None = None,
    inputs: Any = None,
    against: Any = "dtensor",
    layout: Layout | None = None,
    tolerance: float = 1e-5,
    timeout: float = 300,
) -> Report:
    """A loss and its gradients by another system, by Shoal, and by torch on one device, leaf by leaf.

    module, loss, batch, params, inputs, layout: as of `shoal.torch.train_step`.
    against: "dtensor", DTensors by the plan; "transformers", a model's own expert parallelism by its ep_plan over all processes, or a
      DistributedConfig of transformers, for as many; or a function of (module, loss, batch, device mesh) that each of the mesh's processes calls
      under torch.distributed with gloo, with copies of these: it returns a loss and gradients by names of parameters, each whole, a DTensor, or
      this process's part by the plan, and maybe "grad_norm" among them. Functions and modules go to new processes: they must be
      picklable, of a module's top level. mesh: with names, sizes as those of the device mesh.
    tolerance: of relative errors. timeout: seconds for the processes.

    RunError with what a process of theirs raised; InputError of gradients of another shape than the plan's.
    """
    if not isinstance(mesh, Mesh):
        raise TraceTypeError(f"check: mesh: expected a shoal.Mesh, got {type(mesh).__name__}")
    graph = graph_of_loss(module, loss, batch)
    specs = of_state(graph, params)
    trained = {name: p for name, p in module.named_parameters() if p.requires_grad}
    names = [given.name for given in graph.inputs if given.name in trained]
    places = {**specs, **of_arguments(graph, inputs)}
    expected = _of_torch(module, loss, batch, names)
    ours = _of_shoal(graph, names, batch, mesh, places, layout)
    given = (copy.deepcopy(module), loss, batch)
    theirs = run_peers(against, given, mesh, {name: specs.get(name) for name in names}, inputs, timeout)
    leaves = [_leaf(name, expected[name], ours[name], theirs, specs.get(name), mesh) for name in expected if name in ours or name in theirs[0]]
    return Report([leaf for leaf in leaves if leaf.name != NORM or NORM in theirs[0]], tolerance)


def _of_torch(module: Any, loss: Any, batch: Any, names: Sequence[str]) -> dict[str, np.ndarray]:
    """On one device."""
    alone = copy.deepcopy(module)
    alone.zero_grad()
    result = loss(alone, batch)
    value = result[0] if isinstance(result, tuple) else result
    value.backward()
    parameters = dict(alone.named_parameters())
    grads = {name: _gradient(parameters[name]) for name in names}
    norm = np.sqrt(sum(np.square(grad, dtype=np.float64).sum() for grad in grads.values()))
    return {"loss": np.asarray(to_numpy(value)), **grads, NORM: np.asarray(norm, np.float32)}


def _gradient(parameter: torch.nn.Parameter) -> np.ndarray:
    grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
    return np.asarray(to_numpy(grad.float()))


def _of_shoal(graph: Any, names: Sequence[str], batch: Any, mesh: Mesh, places: Any, layout: Layout | None) -> dict[str, np.ndarray]:
    settings = Settings(layout, is_differentiated=True)
    program = write_gradients(graph, names, settings.mesh(mesh), shardings=places, settings=settings)
    given = {name: to_numpy(value) for name, value in Call(graph).arguments((batch,), {}).items()}
    results = dict(compile_text(program.text, "cpu", source=f"<{program.name}>").run({**state_of(graph), **given}))
    found = {name.removeprefix(PREFIX): np.asarray(results[name], np.float32) for name in ("loss", *(f"{PREFIX}{n}" for n in names))}
    norm = np.sqrt(sum(np.square(found[name], dtype=np.float64).sum() for name in names))
    return {**found, NORM: np.asarray(norm, np.float32)}


def _leaf(name: str, expected: np.ndarray, ours: np.ndarray, theirs: Sequence[Mapping[str, Any]], spec: P | None, mesh: Mesh) -> Leaf:
    """Theirs is that of the process that is farthest."""
    parts = []
    for rank, found in enumerate(theirs):
        wanted, start = _part(expected, found.get(name), spec, mesh, rank, name)
        parts.append(_apart(found.get(name), wanted, np.abs(expected).max(initial=0.0), start, rank))
    return Leaf(name, expected.shape, _apart(ours, expected, np.abs(expected).max(initial=0.0)), max(parts, key=lambda part: part.error))


def _part(whole: np.ndarray, got: Any, spec: P | None, mesh: Mesh, rank: int, name: str) -> tuple[np.ndarray, tuple[int, ...]]:
    """What a process should have, and where that begins: the whole, or its part by the plan."""
    if got is None or got.shape == whole.shape:
        return whole, (0,) * whole.ndim
    place = dict(zip(mesh.axes, np.unravel_index(rank, tuple(mesh.axes.values()))))
    slices = []
    for size, entry in zip(whole.shape, [*(spec.dims if spec is not None else ()), *[None] * whole.ndim]):
        axes = (entry,) if isinstance(entry, str) else tuple(entry or ())
        count = int(np.prod([mesh.axes[axis] for axis in axes]))
        number = int(np.ravel_multi_index([place[axis] for axis in axes], [mesh.axes[axis] for axis in axes])) if axes else 0
        block = -(-size // count)
        slices.append(slice(number * block, min((number + 1) * block, size)))
    part = whole[tuple(slices)]
    if part.shape != got.shape:
        raise InputError(f'check: "{name}": process {rank} has {list(got.shape)}; expected {list(part.shape)} by the plan, or {list(whole.shape)}')
    return part, tuple(one.start for one in slices)


def _apart(got: np.ndarray | None, expected: np.ndarray, scale: float, start: tuple[int, ...] = (), rank: int | None = None) -> Apart:
    if got is None:
        return Apart(float("inf"), (), None, float(scale), rank)
    difference = np.abs(got.astype(np.float64) - expected)
    difference = np.where(np.isfinite(difference), difference, np.inf)
    place = np.unravel_index(int(difference.argmax()), difference.shape) if difference.size else ()
    error = float(difference[place]) if difference.size else 0.0
    relative = 0.0 if error == 0 else error / max(float(scale), 1e-30)
    where = tuple(int(i) + first for i, first in zip(place, start or (0,) * len(place)))
    return Apart(relative, where, float(got[place]), float(expected[place]), rank)

