# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What says where values lie."""

from __future__ import annotations

from shoal.frontend import annotations
from shoal.frontend.core import current
from shoal.frontend.value import Value
from shoal.torch.op import Op
from shoal.torch.registry import imports
from shoal.torch.specs import read


@imports("shoal.annotate.default")
def annotate(op: Op, x: Value, spec: str, hint: bool = False) -> Value:
    # On one device, without a mesh, all lies there.
    if current("annotate").mesh is None:
        return x
    return annotations.constrain(x, read(spec), hint=hint)
