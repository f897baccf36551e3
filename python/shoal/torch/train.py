# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of modules: torch captures the loss, Shoal differentiates it.

    step = shoal.torch.train_step(model, loss=lambda m, b: m(**b).loss, optimizer=torch.optim.AdamW(model.parameters()), batch=batch)
    for batch in loader:
        metrics = step(batch)                   # {"loss": ..., "grad_norm": ...}
    model.load_state_dict(step.state_dict())
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

import shoal.frontend.jit as calls
from shoal import train
from shoal.devices import Array, Devices
from shoal.errors import InputError, TraceError, TraceTypeError, UnsupportedError
from shoal.executable import Executable
from shoal.frontend.annotations import P
from shoal.mesh import Mesh
from shoal.moe import Layout
from shoal.optim import Transform, shardings_like
from shoal.torch.activations import Activations
from shoal.torch.calls import Call
from shoal.torch.derivatives import inputs_behind
from shoal.torch.capture import export, keep_frames
from shoal.torch.fx import from_fx
from shoal.torch.graph import Graph, Node, Ref, Type
from shoal.torch.halves import complex_inputs, outer_type
from shoal.torch.importer import Hooks, Importer, check
from shoal.torch.optimizers import Optimizer, of_shoal, of_torch
from shoal.torch.programs import evaluate
from shoal.torch.segments import with_segments
from shoal.torch.settings import Settings
from shoal.torch.shardings import by_globs, of_arguments, of_state
from shoal.torch.sources import state_of
from shoal.torch.tensors import to_numpy, to_torch

Loss = Callable[[torch.nn.Module, Any], Any]
WEIGHT = "weight"
# Of what the module writes over, among a step's metrics.
_WRITTEN = "written."


class State(NamedTuple):
    """What there is from step to step.

    step: how many are done, an int32 scalar. params: what the optimiser moves, by names of `state_dict()`.
    buffers: other parameters, buffers and constants. optimizer: the optimiser's state.
    samples: how many rows of batches are behind it, an int64 scalar: where `shoal.train.fit` goes on.
    """

    step: Any
    params: Any
    buffers: Any
    optimizer: Any
    samples: Any


class TrainStep:
    """What `train_step` gives: a call does one step. The state stays on the devices; the module is not changed.

    state: the `State` behind the last step.
    """

    def __init__(self, run: Any, state: State, call: Call, optimizer: Optimizer, kept: frozenset[str], parts: int):
        """kept: the names of the module's own state_dict(), which has no buffers that are not persistent. parts: of a batch."""
        self.state = state
        self._kept = kept
        self._parts = parts
        self._run = run
        self._call = call
        self._optimizer = optimizer
        self._aliases = _aliases(call.graph)

    def __call__(self, batch: Any) -> dict[str, float]:
        """One step with a batch as the example was: "loss", "grad_norm", and what else `shoal.train.step` and the loss have for metrics."""
        _, metrics = self.advance(self.state, batch)
        return {name: float(value) if value.ndim == 0 else value for name, value in metrics.items()}

    def advance(self, state: State, batch: Any) -> tuple[State, dict[str, Any]]:
        """One step from a state, whose memory it takes: the next one, which is `state` from then on, and metrics, which stay on the
        devices. It is what `shoal.train.fit` calls: train.fit(step.advance, step.state, batches, 1000, save=checkpoints.Series("run"))."""
        self.state, metrics = self._run(state, self._arguments(batch), self._optimizer.rates())
        return self.state, metrics

    def _arguments(self, batch: Any) -> dict[str, Any]:
        """By the program's names; InputError of another shape or type than the example's."""
        given = {name: to_numpy(value) for name, value in self._call.arguments((batch,), {}).items()}
        types = {each.name: outer_type(each.type) for each in self._call.graph.inputs if each.type is not None}
        for name, value in given.items():
            part = types[name]
            expected = Type((part.shape[0] * self._parts, *part.shape[1:]), part.dtype) if self._parts > 1 else part
            got = Type(tuple(np.shape(value)), getattr(value, "dtype", np.dtype(type(value))))
            if got != expected:
                raise InputError(f'batch: "{name}" is {got}; the step is for {expected}: drop a last batch with fewer rows, or pad it')
        return given

    def executable_for(self, batch: Any) -> Executable:
        """The program of a step: its text, costs and report; compiles, does not run."""
        return self._run.executable_for(self.state, self._arguments(batch), self._optimizer.rates())

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Parameters and buffers as the module's state_dict() has them, tied ones under each name."""
        known = {**self.state.buffers, **self.state.params}
        pairs = complex_inputs(self._call.graph)
        tensors = {name: to_torch(value, name in pairs) for name, value in known.items()}
        tensors |= {other: tensors[name] for other, name in self._aliases.items() if name in tensors}
        return {name: tensor for name, tensor in tensors.items() if name in self._kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes these numbers for parameters and buffers; moments and the number of steps stay.

        InputError of a name that is none of the module's, and of another shape or type.
        """
        params, buffers = dict(self.state.params), dict(self.state.buffers)
        for name, value in state.items():
            target = params if name in params else buffers
            if name not in target and name not in self._aliases:
                raise InputError(f'state: "{name}" is not one of {len(params) + len(buffers)} names')
            if name in target:
                target[name] = _like(to_numpy(value), target[name], name)
        self.state = self.state._replace(params=params, buffers=buffers)


def _like(value: Any, old: Any, name: str) -> Any:
    if (tuple(value.shape), value.dtype) != (tuple(old.shape), old.dtype):
        raise InputError(f'state: "{name}" is {old.dtype}{list(old.shape)} and not {value.dtype}{list(value.shape)}')
    return value if isinstance(value, Array) else np.array(value)


def train_step(
    module: torch.nn.Module,
    loss: Loss,
    optimizer: torch.optim.Optimizer | Sequence[torch.optim.Optimizer] | Transform,
    batch: Any,
    *,
    mesh: Mesh | None = None,
    params: Mapping[str, Any] | None = None,
    inputs: Any = None,
    activations: Mapping[str, Any] | None = None,
    layout: Layout | None = None,
    capacity_factor: float | None = None,
    micro_batches: int = 1,
    overlap: int = 1,
    weighted: bool = False,
    gradients: Mapping[str, Any] | None = None,
    remat: str | Mapping[str, str] = "",
    seed: int = 0,
    devices: Devices | None = None,
    **options: Any,
) -> TrainStep:
    """A step of training: loss, gradients and update as one program on the devices of a mesh.

    loss: of (module, batch): a scalar, or a pair of it and a dict of tensors, which become metrics.
    weighted: the loss has a pair (total, weight) in the scalar's place, the sum over what counts of its rows, as tokens, and how much
      that is: micro-batches count by their weights.
    optimizer: of torch, SGD, Adam, AdamW, Adafactor or Muon, whose groups are read and whose learning rates are read at each step; several
      of these, each for its parameters; or one of shoal.optim. Parameters that it does not have, those that need no gradient, and those
      that the loss has none by, stay.
    batch: with the shapes and types of all batches: a tensor, or tuples, lists and dicts of them.
    params, activations, layout, capacity_factor: as of `shoal.torch.compile`; moments lie as their parameters.
    inputs: where the batch lies: one P for all, or a dict by the names of its tensors.
    micro_batches, overlap: into how many equal parts the rows of a batch are cut, in one program, and how many of them run beside each
      other; the loss is the mean of theirs, metrics as of `shoal.optim.accumulate`.
    gradients: globs over parameters' names to P(...): where gradients lie between loss and update, as of ZeRO-2.
    remat: what backward passes find saved: a policy of `shoal.remat` for all, or one for each glob over modules' paths:
      {"model.layers.*": "nothing"}; a module's ops are one segment then.
    seed: of random numbers, as of dropout, with the step's number. options: fields of CompileOptions.

    What detach and no_grad keep from gradients stays so. Raises as `shoal.torch.compile`, and UnsupportedError of optimisers.
    """
    options |= {"remat": remat} if isinstance(remat, str) and remat else {}
    example = _micro_batch(batch, micro_batches)
    graph = graph_of_loss(module, loss, example, weighted)
    _check_micro_batches(graph, micro_batches)
    if not isinstance(remat, str):
        graph = with_segments(graph, remat)
    moved, settings = _optimizer_of(optimizer, module, graph), Settings(layout, capacity_factor, is_differentiated=True)
    first, mesh = _first_state(state_of(graph), moved), settings.mesh(mesh)
    hooks = Activations(graph, activations) if activations else None
    said = by_globs(gradients or {}, first.params, "gradients")
    between = {name: said.get(name) for name in first.params} if said else None
    parts = {"weighted": weighted, "micro_batches": micro_batches, "overlap": overlap, "gradients": between, "seed": seed}
    run = calls.jit(
        _step_of(graph, moved, (hooks, settings), parts),
        mesh=mesh,
        in_shardings=None if mesh is None else _places(graph, first, params, inputs),
        donate_argnums=0,
        devices=devices,
        **options,
    )
    return TrainStep(run, first, Call(graph), moved, frozenset(module.state_dict()), micro_batches)


def graph_of_loss(module: torch.nn.Module, loss: Loss, batch: Any, weighted: bool = False) -> Graph:
    """The graph of a loss of (module, batch): results "loss", of a weighted one "weight", and metrics; state by the module's names.

    UnsupportedError with all that has no counterpart, and of a loss that writes over its batch.
    """
    _check_hooks(module)
    graph = _of_module(from_fx(export(_Loss(module, loss, weighted), (batch,)), type(module).__name__))
    check(graph)
    written = [output.name for output in graph.outputs if output.kind == "input"]
    if written:
        raise UnsupportedError(f'loss: it writes over "{written[0]}" of its batch, which is not supported; clone it before')
    return graph


def _check_hooks(module: torch.nn.Module) -> None:
    """UnsupportedError of what torch calls with gradients, which are Shoal's here."""
    owners = [*module.named_modules(), *module.named_parameters()]
    for kind in ("_backward_hooks", "_backward_pre_hooks", "_post_accumulate_grad_hooks"):
        for name, owner in owners:
            if getattr(owner, kind, None):
                raise UnsupportedError(f'"{name}": a hook of gradients is not supported; write a torch.autograd.Function, or change them in an optimiser')


def _micro_batch(batch: Any, count: int) -> Any:
    """The rows of one of `count` parts; InputError where they do not divide."""

    def part(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.ndim or tensor.shape[0] % count:
            raise InputError(f"micro_batches: a tensor of {list(tensor.shape)} has no rows that {count} parts divide")
        return tensor[::count]

    return batch if count == 1 else torch.utils._pytree.tree_map_only(torch.Tensor, part, batch)


def _check_micro_batches(graph: Graph, count: int) -> None:
    written = [output.name for output in graph.outputs if output.kind == "buffer"]
    if count > 1 and written:
        raise UnsupportedError(f'micro_batches: the module writes over "{written[0]}" in each of {count}, which is not supported; expected 1')


def _optimizer_of(optimizer: Any, module: torch.nn.Module, graph: Graph) -> Optimizer:
    """The one that is given, for the parameters that the loss reads and that need gradients."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    behind = inputs_behind(graph, "loss")
    trained = frozenset(name for name, parameter in parameters.items() if parameter.requires_grad and name in behind)
    listed = optimizer if isinstance(optimizer, (list, tuple)) and not isinstance(optimizer, Transform) else [optimizer]
    if listed and all(isinstance(one, torch.optim.Optimizer) for one in listed):
        return of_torch(listed, {name: parameters[name] for name in sorted(trained)}, parameters.values())
    if isinstance(optimizer, Transform):
        return of_shoal(optimizer, trained)
    raise TraceTypeError(f"optimizer: expected one of torch.optim or shoal.optim, got {type(optimizer).__name__}")


def _places(graph: Graph, first: State, params: Mapping[str, Any] | None, inputs: Any) -> tuple[Any, ...]:
    """Of the state, the batch and the rates."""
    specs, rows = of_state(graph, params), of_arguments(graph, inputs)
    names = [given.name for given in graph.inputs if given.kind == "user" and given.type is not None]
    return _shardings(first, specs), {name: rows.get(name) for name in names}, P()


class _Loss(torch.nn.Module):
    """The loss of a batch, as torch.export captures it."""

    def __init__(self, module: torch.nn.Module, loss: Loss, weighted: bool):
        super().__init__()
        self.module = module
        self._loss = loss
        self._weighted = weighted
        keep_frames(loss)
        self.training = module.training

    def forward(self, batch: Any) -> Any:
        result = self._loss(self.module, batch)
        value, metrics = result if _has_metrics(result) else (result, {})
        if not self._weighted:
            return {"loss": value, **metrics}
        if not isinstance(value, tuple) or len(value) != 2:
            raise TraceTypeError(f"loss: weighted=True: expected a pair (total, weight), got {type(value).__name__}")
        total, weight = value
        return {"loss": total, WEIGHT: weight, **metrics}


def _has_metrics(result: Any) -> bool:
    return isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping)


_PREFIX = "module."


def _of_module(graph: Graph) -> Graph:
    """With the names that the module itself has for its state and its parts."""

    def short(name: str) -> str:
        return name.removeprefix(_PREFIX)

    def placed(node: Node) -> Node:
        module = "" if node.place.module == "module" else short(node.place.module)
        return dataclasses.replace(node, place=dataclasses.replace(node.place, module=module))

    return dataclasses.replace(
        graph,
        inputs=tuple(
            dataclasses.replace(given, name=short(given.name), aliases=tuple(map(short, given.aliases)))
            if given.kind != "user"
            else given
            for given in graph.inputs
        ),
        nodes=tuple(map(placed, graph.nodes)),
        outputs=tuple(
            dataclasses.replace(output, name=short(output.name)) if output.kind == "buffer" else output
            for output in graph.outputs
        ),
        state={short(name): value for name, value in graph.state.items()},
    )


def _aliases(graph: Graph) -> dict[str, str]:
    return {other: given.name for given in graph.inputs for other in given.aliases}


def _first_state(state: Mapping[str, Any], optimizer: Optimizer) -> State:
    # Copies: a step may write over what it is given.
    params = {name: np.array(value) for name, value in state.items() if name in optimizer.names}
    buffers = {name: np.array(value) for name, value in state.items() if name not in optimizer.names}
    if not params:
        raise TraceError("optimizer: it moves no parameter that the loss reads")
    return State(np.zeros((), np.int32), params, buffers, optimizer.init(params), np.zeros((), np.int64))


def _shardings(state: State, specs: Mapping[str, Any]) -> State:
    params = {name: specs.get(name) for name in state.params}
    known = {name: P() if spec is None else spec for name, spec in params.items()}
    moments = shardings_like(state.optimizer, state.params, known) if any(params.values()) else None
    return State(P(), params, {name: specs.get(name) for name in state.buffers}, moments, P())


def _step_of(graph: Graph, optimizer: Optimizer, told: tuple[Hooks | None, Settings], options: Mapping[str, Any]) -> Callable[..., Any]:
    """The function that is traced; told: what the importer is; options: of `shoal.train.step`."""
    written = {output.name for output in graph.outputs if output.kind != "user"}
    users = [output for output in graph.outputs if output.kind == "user"]
    if not all(isinstance(output.value, Ref) for output in users):
        raise TraceTypeError("loss: expected tensors, got a number of Python's")

    def train_step(state: State, batch: Mapping[str, Any], rates: Any) -> tuple[State, dict[str, Any]]:
        def loss_of(params: Mapping[str, Any], batch: Mapping[str, Any], *, key: Any) -> Any:
            results = dict(evaluate(graph, Importer(key, *told), {**state.buffers, **params, **batch}))
            value = results.pop("loss")
            value = (value, results.pop(WEIGHT)) if options["weighted"] else value
            return value, {_WRITTEN + name if name in written else name: result for name, result in results.items()}

        moves = Transform(optimizer.init, lambda grads, kept, params: optimizer.update(grads, kept, params, rates), optimizer.rate)
        step = train.step(loss_of, moves, has_aux=True, **options)
        new, metrics = step(train.TrainState(state.step, state.params, state.optimizer, state.samples), batch)
        buffers = {name: metrics.pop(_WRITTEN + name, old) for name, old in state.buffers.items()}
        return State(new.step, new.params, buffers, new.optimizer, new.samples), metrics

    return train_step
