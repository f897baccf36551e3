# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler as an extension module, which sessions do without."""

from __future__ import annotations

import importlib
from types import ModuleType

from shoal.errors import ShoalError


def native() -> ModuleType:
    """The module shoal._native, or a ShoalError that says how to get it."""
    try:
        return importlib.import_module("shoal._native")
    except ImportError as error:
        raise ShoalError(
            f"the compiler is not there ({error}): `pip install .` in Shoal's source, or "
            "build it and put the folder python of the build on PYTHONPATH"
        ) from error
