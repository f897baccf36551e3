# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import sys
from pathlib import Path

# pytest enters this folder, whose folders are named as libraries are: without torch, `import torch` would find one.
sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).resolve().parent)]
sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
import pytest
from paths import PATHS

sys.path[:0] = PATHS
# Tests compile: only those of the cache itself turn it on, each in its folder.
os.environ["SHOAL_CACHE"] = "off"
# Of tests of meaning LLVM optimises kernels lightly; these folders have what users get.
FULLY_OPTIMISED = {"compiler", "docs", "examples"}


@pytest.fixture(scope="module", autouse=True)
def opt_level(request):
    folder = request.path.relative_to(Path(__file__).resolve().parent).parts[0]
    with pytest.MonkeyPatch.context() as patch:
        if folder not in FULLY_OPTIMISED and "SHOAL_OPT_LEVEL" not in os.environ:
            patch.setenv("SHOAL_OPT_LEVEL", "1")
        yield


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: counts seconds, or makes networks: no other test runs beside it")
    config.addinivalue_line("markers", "long: takes minutes in its full form, which SHOAL_LONG=1 asks for")
