# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Annotations inside of modules: an op of torch's that is the identity wherever torch runs it.

    x = shoal.torch.annotate(x, P("data", None, "model"))
"""

from __future__ import annotations

from typing import Any

import torch

from shoal.frontend.annotations import P
from shoal.torch.specs import spelled


@torch.library.custom_op("shoal::annotate", mutates_args=())
def _annotate(x: torch.Tensor, spec: str, hint: bool) -> torch.Tensor:
    # Results of custom ops share no memory with their operands.
    return x.clone()


@_annotate.register_fake
def _(x: torch.Tensor, spec: str, hint: bool) -> torch.Tensor:
    return torch.empty_like(x)


def _keep_spec(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.spec = inputs[1]


def _backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
    # Where values lie their gradients are asked to lie, too.
    return torch.ops.shoal.annotate(gradient, ctx.spec, True), None, None


torch.library.register_autograd("shoal::annotate", _backward, setup_context=_keep_spec)


def annotate(x: torch.Tensor, spec: P, *, hint: bool = False) -> torch.Tensor:
    """The tensor, which lies so in programs of Shoal: as `shoal.constrain` of it; a copy where torch runs it.

    spec: P of axes' names, None, "?" and ... . hint: it only asks.
    TraceTypeError of entries that are none of these.
    """
    return torch.ops.shoal.annotate(x, spelled(spec), hint)
