# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write Mixture-of-Experts programs for many devices, compile and run them."""

from shoal import frontend, moe, random
from shoal.errors import (
    CompileError,
    CompileWarning,
    Diagnostic,
    InputError,
    RunError,
    ShoalError,
    TraceError,
    TraceTypeError,
    UnsupportedError,
)
from shoal.executable import CompileOptions, Executable, Session, Tensor, compile_text, load
from shoal.frontend import *
from shoal.frontend.compiling import compile
from shoal.mesh import Axis, Dim, Mesh, Sharding

__all__ = [
    "Axis", "CompileError", "CompileOptions", "CompileWarning", "Diagnostic", "Dim", "Executable",
    "InputError", "Mesh", "RunError", "Session", "Sharding", "ShoalError", "Tensor", "TraceError",
    "TraceTypeError", "UnsupportedError", "compile", "compile_text", "load", "moe", "random",
]  # fmt: skip
__all__ += frontend.__all__
