# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tools that come with the package, as commands."""

import os
import sys
from pathlib import Path

BIN = Path(__file__).parent / "bin"


def _become(tool: str) -> None:
    os.execv(BIN / tool, [tool, *sys.argv[1:]])


def shoalc() -> None:
    _become("shoalc")


def shoal_opt() -> None:
    _become("shoal-opt")


def shoal_run() -> None:
    _become("shoal-run")


def shoal_lsp_server() -> None:
    _become("shoal-lsp-server")
