# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All that the package takes of JAX's private modules, which each version of JAX may move.

Others import it from here; `test/python/package/test_jax_private.py` holds that. What one version has and another one
has not is told apart here alone.
"""

from __future__ import annotations

from jax._src import (
    ad_util,
    callback,
    config,
    core,
    custom_partitioning,
    debugging,
    dispatch,
    dtypes,
    effects,
    mesh,
    source_info_util,
    tree_util,
)
from jax._src.interpreters import mlir, partial_eval, pxla
from jax._src.lax import lax
from jax._src.lax.control_flow import conditionals
from jax._src.lib import jax_jit, xla_client

__all__ = [
    "ad_util", "callback", "conditionals", "config", "core", "custom_partitioning", "debugging", "dispatch", "dtypes",
    "effects", "jax_jit", "lax", "mesh", "mlir", "partial_eval", "pxla", "source_info_util", "tree_util", "xla_client",
]  # fmt: skip
