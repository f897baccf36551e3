# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Array-like values whose operations become a Shoal program. See docs/Python.md.

A module for each family of ops, and what they stand on. In layers, each of which
imports those above it:

    dtypes, checks                                  types and arguments, no program
    value, core                                     values as data; the trace, ops
    constants, conversion, broadcasting             operands brought to one shape and type
    elementwise ... custom_call                     the families
    numpy_protocol, operators                       what is attached to values
    pytrees, tracing, compiling                     whole functions
"""

from shoal.frontend import (
    annotations,
    collectives,
    contraction,
    control_flow,
    creation,
    custom_call,
    elementwise,
    indexing,
    manual,
    nn,
    operators,  # attached for all who have values
    ordering,
    reduction,
    reshape,
    structure,
    tracing,
    windows,
)
from shoal.frontend.broadcasting import promote_types
from shoal.frontend.dtypes import bfloat16
from shoal.frontend.value import Value

# Modules first: some functions have the names of theirs (reshape, manual, custom_call).
__all__ = ["Value", "bfloat16", "promote_types"]
__all__ += annotations.__all__
__all__ += collectives.__all__
__all__ += contraction.__all__
__all__ += control_flow.__all__
__all__ += creation.__all__
__all__ += custom_call.__all__
__all__ += elementwise.__all__
__all__ += indexing.__all__
__all__ += manual.__all__
__all__ += nn.__all__
__all__ += ordering.__all__
__all__ += reduction.__all__
__all__ += reshape.__all__
__all__ += structure.__all__
__all__ += tracing.__all__
__all__ += windows.__all__

from shoal.frontend.annotations import *
from shoal.frontend.collectives import *
from shoal.frontend.contraction import *
from shoal.frontend.control_flow import *
from shoal.frontend.creation import *
from shoal.frontend.custom_call import *
from shoal.frontend.elementwise import *
from shoal.frontend.indexing import *
from shoal.frontend.manual import *
from shoal.frontend.nn import *
from shoal.frontend.ordering import *
from shoal.frontend.reduction import *
from shoal.frontend.reshape import *
from shoal.frontend.structure import *
from shoal.frontend.tracing import *
from shoal.frontend.windows import *
