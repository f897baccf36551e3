#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles models of JAX's libraries for 8 devices, and compares with JAX and XLA.

test/real-models/run.sh installs the libraries and calls this.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "conformance")]
os.environ["KERAS_BACKEND"] = "jax"

import conformance  # noqa: E402

SUITE = conformance.Suite(__doc__, programs="networks", page="write_page", jobs=1)

if __name__ == "__main__":
    sys.exit(conformance.main(suite=SUITE))
