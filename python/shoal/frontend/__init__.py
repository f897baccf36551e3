# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Array-like values whose operations become a Shoal program. See docs/Python.md."""

from shoal.frontend.value import Value  # isort: skip  (imports the modules of its methods)
from shoal.frontend.annotations import *
from shoal.frontend.control_flow import *
from shoal.frontend.broadcasting import promote_types
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
from shoal.frontend.dtypes import bfloat16

from shoal.frontend import (
    annotations,
    control_flow,
    conversion,
    creation,
    custom,
    elementwise,
    functions,
    indexing,
    logic,
    manual_regions,
    nn,
    ordering,
    products,
    ragged,
    reductions,
    shape,
    tracing,
    updates,
    windows,
)  # isort: skip

__all__ = ["Value", "bfloat16", "promote_types"]
__all__ += annotations.__all__
__all__ += control_flow.__all__
__all__ += conversion.__all__
__all__ += creation.__all__
__all__ += custom.__all__
__all__ += elementwise.__all__
__all__ += functions.__all__
__all__ += indexing.__all__
__all__ += logic.__all__
__all__ += manual_regions.__all__
__all__ += nn.__all__
__all__ += ordering.__all__
__all__ += products.__all__
__all__ += ragged.__all__
__all__ += reductions.__all__
__all__ += shape.__all__
__all__ += tracing.__all__
__all__ += updates.__all__
__all__ += windows.__all__
