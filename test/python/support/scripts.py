# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scripts as modules, whatever their files are called."""

import importlib.util
import sys
from pathlib import Path


def load_script(path):
    """A new module each time."""
    spec = importlib.util.spec_from_file_location(Path(path).stem.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # which dataclasses look for
    spec.loader.exec_module(module)
    return module
