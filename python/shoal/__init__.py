# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write Mixture-of-Experts programs for many devices, compile and run them."""

from shoal import checkpoints, data, frontend, layers, models, moe, optim, random, train
from shoal.arrays.pipelining import pipeline
from shoal.devices import Array, Devices, launch
from shoal.errors import (
    CheckpointError,
    CheckpointWarning,
    CompileError,
    CompileWarning,
    Diagnostic,
    InputError,
    MoveWarning,
    RunError,
    ShoalError,
    TraceError,
    TraceTypeError,
    UnsupportedError,
    WeightsWarning,
)
from shoal.executable import CompileOptions, Executable, Session, Tensor, compile_text, load
from shoal.frontend.annotations import *
from shoal.frontend.autodiff import *
from shoal.frontend.broadcasting import promote_types
from shoal.frontend.collectives import *
from shoal.frontend.compiling import compile
from shoal.frontend.contraction import *
from shoal.frontend.control_flow import *
from shoal.frontend.creation import *
from shoal.frontend.custom_call import *
from shoal.frontend.custom_derivatives import *
from shoal.frontend.dtypes import bfloat16
from shoal.frontend.elementwise import *
from shoal.frontend.fourier import *
from shoal.frontend.host_call import *
from shoal.frontend.indexing import *
from shoal.frontend.jit import jit
from shoal.frontend.manual import *
from shoal.frontend.naming import *
from shoal.frontend.nn import *
from shoal.frontend.ordering import *
from shoal.frontend.reduction import *
from shoal.frontend.remat import *
from shoal.frontend.reshape import *
from shoal.frontend.structure import *
from shoal.frontend.tracing import *
from shoal.frontend.value import Value
from shoal.frontend.windows import *
from shoal.mesh import Axis, Dim, Mesh, Sharding
from shoal.planning import plan
from shoal.simulation import Forecast, Machine, simulate

__all__ = [
    "Array", "Axis", "CheckpointError", "CheckpointWarning", "CompileError", "CompileOptions",
    "CompileWarning", "Devices", "Diagnostic", "Dim", "Executable", "Forecast", "InputError", "Machine", "Mesh",
    "MoveWarning", "RunError", "Session", "Sharding", "ShoalError", "Tensor", "TraceError", "TraceTypeError",
    "UnsupportedError", "Value", "WeightsWarning", "bfloat16", "checkpoints", "compile",
    "compile_text", "data", "jit", "launch", "layers", "load", "models", "moe", "optim", "pipeline", "plan",
    "promote_types", "random", "simulate", "train",
]  # fmt: skip
__all__ += [name for module in frontend.EXPORTED for name in module.__all__]
