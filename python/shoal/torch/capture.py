# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch.export makes of modules and functions, in the form that is imported best."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO
from unittest import mock

import torch

import shoal
from shoal.errors import ShoalError, TraceError, UnsupportedError
from shoal.torch.functions import Refused, recorded

# Ops that stay whole, one for each thing that was written. Torch would decompose an einsum or a product
# of four dimensions into reshapes around one of three, in which shardings of batches are lost, and drop
# what stops gradients.
KEPT = frozenset({
    "detach.default", "detach_.default", "einsum.default", "matmul.default", "linear.default", "one_hot.default", "softmax.int",
    "log_softmax.int", "scaled_dot_product_attention.default", "layer_norm.default", "rms_norm.default",
    "group_norm.default", "gelu.default", "silu.default", "relu.default", "embedding.default", "dropout.default",
    "cross_entropy_loss.default", "pad.default", "mse_loss.default", "l1_loss.default", "smooth_l1_loss.default",
    "huber_loss.default", "binary_cross_entropy_with_logits.default", "binary_cross_entropy.default", "kl_div.default",
    "softplus.default", "elu.default", "leaky_relu.default", "hardtanh.default", "hardswish.default",
    "hardsigmoid.default", "mish.default", "prelu.default", "log_sigmoid.default", "glu.default", "logsumexp.default",
    "adaptive_avg_pool1d.default", "adaptive_avg_pool2d.default", "tril.default", "triu.default", "outer.default",
    "index_select.default", "index_add.default", "index_copy.default", "movedim.int", "movedim.intlist",
    "var_mean.correction", "lerp.Scalar", "lerp.Tensor", "addcmul.default", "addcdiv.default", "square.default",
    "stack.default", "split.Tensor", "flip.default", "roll.default", "repeat_interleave.self_int",
    "pixel_shuffle.default", "histc.default", "bucketize.Tensor", "instance_norm.default", "nan_to_num.default",
    "upsample_nearest2d.vec", "upsample_bilinear2d.vec", "upsample_nearest1d.vec", "upsample_linear1d.vec",
    "logical_and.default", "logical_or.default", "logical_xor.default", "masked_fill.Scalar", "masked_fill.Tensor",
    "isinf.default", "unfold.default", "logit.default",
    # Written out their gradients are NaN where torch has 0: of rows that are 0, or all the same.
    "linalg_vector_norm.default", "norm.ScalarOpt_dim", "norm.Scalar", "std.correction", "sinc.default", "xlogy.Tensor",
    # Torch's own gives weights for what is beside the result.
    "_scaled_dot_product_flash_attention_for_cpu.default",
})  # fmt: skip


def export(
    module: torch.nn.Module | Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> torch.export.ExportedProgram:
    """An exported program as Shoal imports it: results are new tensors, what the user wrote as one op is one.

    module: or a function of tensors. args, kwargs: with the shapes and types of its calls. To keep it:
    torch.export.save(shoal.torch.export(module, args), "model.pt2").
    TraceError where torch.export ends with one of its errors, which is its cause, with what to write instead; UnsupportedError of
    hooks of gradients.
    """
    given = module if isinstance(module, torch.nn.Module) else _Called(module)
    with advised():
        with recorded(), _types_kept():
            program = torch.export.export(given, tuple(args), dict(kwargs or {}))
        return decomposed(program)


@contextlib.contextmanager
def advised() -> Iterator[None]:
    """Errors of torch.export within it are one message: the line of the program, and what to write instead."""
    try:
        with contextlib.redirect_stderr(_WithoutGraphs(sys.stderr)):
            yield
    except Refused as error:
        raise UnsupportedError(str(error)) from None
    except ShoalError:
        raise
    except (*_OF_PROGRAMS, torch._dynamo.exc.TorchDynamoException) as error:
        said = str(error).strip().partition("\n\n")[0]
        raise TraceError(f"{_place(error)}: torch.export does not take the module: {_advice(str(error))}{said}") from error


# What a module's own lines end with, where they meet what torch.export gives them.
_OF_PROGRAMS = (RuntimeError, AssertionError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError)


@contextlib.contextmanager
def _types_kept() -> Iterator[None]:
    """Within it a module's `.to(...)` that changes nothing, as routers call it in each pass, does nothing: torch would put new
    parameters in the place of those that it traces."""
    to = torch.nn.Module.to

    def converted(module: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
        device, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
        tensors = (*module.parameters(), *module.buffers())
        changed = (t for t in tensors if t.device != (device or t.device) or t.is_floating_point() and t.dtype != (dtype or t.dtype))
        return module if next(changed, None) is None else to(module, *args, **kwargs)

    with mock.patch.object(torch.nn.Module, "to", converted):
        yield


class _WithoutGraphs(io.TextIOBase):
    """stderr but for the graph so far, which torch prints beside its error."""

    def __init__(self, target: TextIO):
        self._target = target
        self._is_behind_graph = False

    def write(self, text: str) -> int:
        is_graph = text.lstrip().startswith("def forward(self")
        is_left_out = is_graph or (self._is_behind_graph and text == "\n")
        self._is_behind_graph = is_graph
        return len(text) if is_left_out else self._target.write(text)

    def flush(self) -> None:
        self._target.flush()


# Where lines are of no program: torch's, Shoal's and Python's own files.
_OTHERS = tuple(f"{Path(module.__file__).parent}{os.sep}" for module in (torch, shoal))
_PYTHON = f"{Path(os.__file__).parent}{os.sep}"


def _place(error: BaseException) -> str:
    """The innermost line of the program, or of a model's library, that torch has come to."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        is_pythons = frame.filename.startswith(_PYTHON) and "site-packages" not in frame.filename
        if not frame.filename.startswith((*_OTHERS, "<")) and not is_pythons:
            return f"{frame.filename}:{frame.lineno}"
    return "export"


def decomposed(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """What torch.export.export gives, in the form of `export`: results are new tensors, composites stay whole."""
    # Inlining drops what a region without gradients stops: it is said by an op before.
    _stop_gradients(program.graph_module)
    # Sizes are numbers here; what else torch asks of arguments may be of an example's memory, as that it is a view of another's.
    program._guards_code = []
    return program.run_decompositions(_table())


class _Called(torch.nn.Module):
    """A function as a module, which torch.export asks for."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        keep_frames(function)

        # With the function's signature: arguments have the names that it has for them.
        @functools.wraps(function)
        def forward(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        self.forward = forward


def keep_frames(function: Callable[..., Any]) -> None:
    """Has torch note the lines of a function, too: by default it keeps those of frames that are called "forward"."""
    register = getattr(torch.fx.proxy, "_register_stack_trace_anchor", None)
    if register is not None:
        register(function)


def _table() -> dict[Any, Any]:
    """Torch's decompositions, without those of ops that stay."""
    table = torch.export.default_decompositions()
    for op in list(table):
        if str(op).removeprefix("aten.") in KEPT:
            table.pop(op)
    return table


def _stop_gradients(module: torch.fx.GraphModule) -> None:
    """Puts a detach behind each result of a region without gradients, in all graphs of the module."""
    for inner in module.children():
        if isinstance(inner, torch.fx.GraphModule):
            _stop_gradients(inner)
    region = torch.ops.higher_order.wrap_with_set_grad_enabled
    for node in module.graph.find_nodes(op="call_function", target=region):
        if node.args[0] is False:
            _detach_results(getattr(module, node.args[1].target))
    module.recompile()


def _detach_results(region: torch.fx.GraphModule) -> None:
    end = region.graph.output_node()
    results = end.args[0]
    with region.graph.inserting_before(end):
        end.args = (tuple(_detached(region, result) for result in results),)
    region.recompile()


def _detached(region: torch.fx.GraphModule, result: Any) -> Any:
    if not isinstance(result, torch.fx.Node) or not isinstance(result.meta.get("val"), torch.Tensor):
        return result
    detach = region.graph.call_function(torch.ops.aten.detach.default, (result,))
    detach.meta = dict(result.meta)
    return detach


_DEPENDS = (
    "a size or a branch depends on numbers: write torch.where, give num_classes=, or of an MoE model of transformers call"
    ' set_experts_implementation("grouped_mm"): '
)
# What torch.export says of what cannot be exported, and what to write instead.
_ADVICE = {
    "GuardOnDataDependentSymNode": _DEPENDS,
    "data-dependent": _DEPENDS,
    "'NoneType' object": "an argument that is left out is None where torch captures it: give all, as attention_mask=: ",
    "DynamicCache": "a cache that grows: give use_cache=False, or a static cache: ",
    "Cannot view a tensor": "a view of strided attention: write reshape: ",
}


def _advice(message: str) -> str:
    return next((advice for found, advice in _ADVICE.items() if found in message), "")
