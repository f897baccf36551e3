# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where what the tests use lies; $SHOAL_BUILD names another build than build/release."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
SUPPORT = Path(__file__).resolve().parent
# The package with its native module is in the build, the reference in the sources.
PATHS = [str(BUILD / "python"), str(ROOT / "python"), str(SUPPORT)]
