# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "support"))
from paths import PATHS

sys.path[:0] = PATHS
# Tests compile: only those of the cache itself turn it on, each in its folder.
os.environ["SHOAL_CACHE"] = "off"


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: of a test beside which no other one runs")
