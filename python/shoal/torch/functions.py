# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch.autograd.Functions have for a backward, written into the graph that torch.export captures.

Export traces a Function's forward and forgets the rest. Here its backward is traced, too, behind ops that stand for the
gradients of its results, and one op says which is whose: `shoal.own_gradient`. `shoal.torch.gradients` makes a graph of its own of it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unittest import mock

import torch
from torch.nn.attention import flex_attention

from shoal.torch.graph import Place
from shoal.torch.refusals import refused_at
from shoal.torch.traces import is_of_program

_Tensor = torch.Tensor


@torch.library.custom_op("shoal::cotangent", mutates_args=())
def _cotangent(result: _Tensor) -> _Tensor:
    return torch.zeros_like(result)


@torch.library.custom_op("shoal::own_gradient", mutates_args=())
def _own_gradient(
    results: Sequence[_Tensor], inputs: Sequence[_Tensor], cotangents: Sequence[_Tensor], gradients: Sequence[_Tensor | None], name: str
) -> list[_Tensor]:
    return [result.clone() for result in results]


@torch.library.custom_op("shoal::no_gradient", mutates_args=())
def _no_gradient(results: Sequence[_Tensor], name: str, reason: str) -> list[_Tensor]:
    return [result.clone() for result in results]


_cotangent.register_fake(lambda result: torch.empty_like(result))
_own_gradient.register_fake(lambda results, *others: list(map(torch.empty_like, results)))
_no_gradient.register_fake(lambda results, *others: list(map(torch.empty_like, results)))

# The module of the Function that dynamo calls for one of the program's in a branch.
_OF_BRANCHES = "torch._functorch.autograd_function"


def _is_derived(kind: type) -> bool:
    """Whether a Function is one of torch's own, whose backward is the derivative of its forward."""
    module = kind.__module__
    return module == "torch.utils.checkpoint" or (module.startswith("torch._") and module != _OF_BRANCHES)


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """Within it backwards of Functions are written into what is captured, and what changes gradients is noted.

    What cannot be traced is an op of its own, `shoal.no_gradient`, which only gradients are refused for.
    """
    apply = torch.autograd.Function.__dict__["apply"]
    hook = torch.Tensor.register_hook

    def applied(kind: type, *args: Any, **kwargs: Any) -> Any:
        if _is_derived(kind):
            return apply.__get__(None, kind)(*args, **kwargs)
        return _applied(kind, args, kwargs)

    def hooked(tensor: _Tensor, function: Callable[..., Any]) -> Any:
        if isinstance(tensor, torch._subclasses.FakeTensor):
            raise _refused("torch.Tensor.register_hook", "a hook of gradients; write a torch.autograd.Function")
        return hook(tensor, function)

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(torch.autograd.Function, "apply", classmethod(applied)))
        stack.enter_context(mock.patch.object(torch.Tensor, "register_hook", hooked))
        if hasattr(flex_attention, "_validate_device"):
            # It refuses gradients on a CPU, where torch is not asked for them here.
            stack.enter_context(mock.patch.object(flex_attention, "_validate_device", lambda *tensors: None))
        yield


class Refused(Exception):
    """Something that no graph can say, with its line."""


def _refused(what: str, reason: str) -> Refused:
    return Refused(refused_at(_caller(), what, reason))


def _caller() -> Place:
    """The innermost frame that is no part of torch."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_of_program(frame.f_code.co_filename):
            return Place(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return Place()


class _Context:
    """What a forward notes for its backward; any other attribute is the Function's own."""

    def __init__(self, needs: tuple[bool, ...]):
        self.needs_input_grad = needs
        self.saved_tensors: tuple[Any, ...] = ()
        self.constant: tuple[_Tensor, ...] = ()
        self.dirty: tuple[_Tensor, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Of forward derivatives, which are not asked."""

    def mark_non_differentiable(self, *tensors: _Tensor) -> None:
        self.constant = tensors

    def mark_dirty(self, *tensors: _Tensor) -> None:
        self.dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Gradients are always given."""


def _applied(kind: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """What a Function gives, with its backward beside it."""
    context = _Context(tuple(map(_is_differentiable, args)))
    # Its forward is no part of what is differentiated.
    given = [arg.detach() if _is_differentiable(arg) else arg for arg in args]
    made = _forward(kind, context, given, kwargs)
    results = list(made) if isinstance(made, (tuple, list)) else [made]
    wanted = [number for number, result in enumerate(results) if _is_differentiable(result) and not _is_in(result, context.constant)]
    inputs = [arg for arg in args if _is_differentiable(arg)]
    if wanted and inputs:
        told = _with_backward(kind, context, inputs, results, wanted)
        for number, result in zip(wanted, told):
            results[number] = result
    return type(made)(results) if isinstance(made, (tuple, list)) else results[0]


def _forward(kind: Any, context: _Context, args: Sequence[Any], kwargs: Any) -> Any:
    if kind.setup_context is torch.autograd.Function.setup_context:
        return kind.forward(context, *args, **kwargs)
    made = kind.forward(*args, **kwargs)
    kind.setup_context(context, tuple(args), made)
    return made


def _with_backward(kind: Any, context: _Context, inputs: list[_Tensor], results: Sequence[Any], wanted: Sequence[int]) -> list[_Tensor]:
    """The results that have gradients, behind an op that says which."""
    chosen, name = [results[number] for number in wanted], f"{kind.__module__}.{kind.__qualname__}"
    if context.dirty:
        return torch.ops.shoal.no_gradient(chosen, name, "mark_dirty: it writes over its arguments; return a new tensor")
    try:
        cotangents = [torch.ops.shoal.cotangent(result) for result in chosen]
        found = _backward(kind, context, results, dict(zip(wanted, cotangents)), len(context.needs_input_grad))
        gradients = [grad for grad, needs in zip(found, context.needs_input_grad) if needs]
        fitting = [grad if grad is None else grad.sum_to_size(x.shape).to(x.dtype) for grad, x in zip(gradients, inputs)]
    except Refused:
        raise
    except Exception as error:  # whatever a backward does that cannot be traced
        return torch.ops.shoal.no_gradient(chosen, name, f"its backward cannot be traced: {_first_line(error)}")
    return torch.ops.shoal.own_gradient(chosen, inputs, cotangents, fitting, name)


def _backward(kind: Any, context: _Context, results: Sequence[Any], cotangents: dict[int, _Tensor], count: int) -> list[Any]:
    """The gradient of each argument."""
    given = [
        cotangents.get(number, torch.zeros_like(result) if isinstance(result, _Tensor) else None)
        for number, result in enumerate(results)
    ]
    is_own = kind.backward is not torch.autograd.Function.backward
    made = (kind.backward if is_own else kind.vjp)(context, *given)
    found = list(made) if isinstance(made, (tuple, list)) else [made]
    if len(found) < count or any(grad is not None for grad in found[count:]):
        raise ValueError(f"it returns {len(found)} gradients of {count} arguments")
    return found[:count]


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, _Tensor) and value.is_floating_point()


def _is_in(tensor: _Tensor, tensors: Sequence[_Tensor]) -> bool:
    return any(tensor is one for one in tensors)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
