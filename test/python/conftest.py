# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
# The package with its native module is in the build, the reference in the sources.
PATHS = [str(BUILD / "python"), str(ROOT / "python"), str(ROOT / "test" / "python")]
sys.path[:0] = PATHS
# Tests compile: only those of the cache itself turn it on, each in its folder.
os.environ["SHOAL_CACHE"] = "off"

# Their tests count the seconds in which processes end, or make networks: no others run beside them.
ALONE = {
    "test_checkpoint_faults",
    "test_fault_campaigns",
    "test_faults",
    "test_hosts",
    "test_hosts_python",
    "test_hosts_slurm",
    "test_pool",
    "test_pool_failures",
}


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: of a test beside which no other one runs")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem in ALONE:
            item.add_marker(pytest.mark.alone)
