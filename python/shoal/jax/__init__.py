# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of JAX as Shoal programs.

    exe = shoal.jax.compile(f, x, w, in_shardings=(rows, None))
    text = shoal.jax.import_stablehlo(jax.jit(f).lower(*args).compiler_ir("stablehlo"))
"""

from shoal.jax.arrays import JaxArray
from shoal.jax.compiler import Compiled, compile
from shoal.jax.jit import jit
from shoal.jax.stablehlo import import_stablehlo, supported_ops

__all__ = ["Compiled", "JaxArray", "compile", "import_stablehlo", "jit", "supported_ops"]
