# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions that are compiled when they are called: what `shoal.jit` and `shoal.jax.jit` share.

    frontend    what a frontend says of its functions, their calls and their programs
    compiling   from what it writes to an executable, in an MPI job for all ranks
    lowered     a call's program before it is compiled
    moves       calls that move what the last one has returned
    jitted      the function itself: finds a call's program, or makes it
"""

from shoal.calls.compiling import check_options
from shoal.calls.frontend import Frontend, Source, Traced
from shoal.calls.jitted import Jitted

__all__ = ["Frontend", "Jitted", "Source", "Traced", "check_options"]
