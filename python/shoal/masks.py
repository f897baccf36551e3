# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NumPy's masked arrays, whose masks np.asarray drops without a word."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_masked(value: Any) -> bool:
    """Whether it is a masked array, or a list or tuple with one in it."""
    if isinstance(value, (list, tuple)):
        return any(map(is_masked, value))
    return isinstance(value, np.ma.MaskedArray)
