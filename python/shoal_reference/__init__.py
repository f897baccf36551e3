# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy statements of what Shoal's programs mean, written from the papers.

Nothing here is derived from the compiler: tests and examples compare against
these functions. See gshard.py and threefry.py.
"""

from .gshard import Gating, expert_capacity, moe_layer, top_k_gating
from .threefry import normal, threefry2x32, uniform

__all__ = [
    "Gating",
    "expert_capacity",
    "moe_layer",
    "normal",
    "threefry2x32",
    "top_k_gating",
    "uniform",
]
