# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples' modules under names of their own, as several examples have a `model.py`."""

import importlib.util
import sys
from types import ModuleType

from paths import ROOT


def load_example(path: str) -> ModuleType:
    """path: from the root, as "examples/moe_training/model.py"."""
    name = path.removesuffix(".py").replace("/", "_")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / path)
        assert spec and spec.loader
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
