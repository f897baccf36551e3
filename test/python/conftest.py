# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
# The package with its native module is in the build, the reference in the sources.
PATHS = [str(BUILD / "python"), str(ROOT / "python"), str(ROOT / "test" / "python")]
sys.path[:0] = PATHS
# Tests compile: only those of the cache itself turn it on, each in its folder.
os.environ["SHOAL_CACHE"] = "off"
