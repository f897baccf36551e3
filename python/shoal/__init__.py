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
from shoal.frontend import Value, bfloat16, promote_types
from shoal.frontend.annotations import *
from shoal.frontend.compiling import compile
from shoal.frontend.control_flow import *
from shoal.frontend.conversion import *
from shoal.frontend.creation import *
from shoal.frontend.custom import *
from shoal.frontend.elementwise import *
from shoal.frontend.functions import *
from shoal.frontend.indexing import *
from shoal.frontend.logic import *
from shoal.frontend.manual_regions import *
from shoal.frontend.nn import *
from shoal.frontend.ordering import *
from shoal.frontend.products import *
from shoal.frontend.ragged import *
from shoal.frontend.reductions import *
from shoal.frontend.shape import *
from shoal.frontend.tracing import *
from shoal.frontend.updates import *
from shoal.frontend.windows import *
from shoal.mesh import Axis, Dim, Mesh, Sharding

__all__ = [
    "Axis", "CompileError", "CompileOptions", "CompileWarning", "Diagnostic", "Dim", "Executable",
    "InputError", "Mesh", "RunError", "Session", "Sharding", "ShoalError", "Tensor", "TraceError",
    "TraceTypeError", "UnsupportedError", "compile", "compile_text", "load", "moe", "random",
]  # fmt: skip
__all__ += frontend.__all__
