# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m shoal.jax IN.mlir -o OUT.mlir: StableHLO in, a Shoal program out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from shoal import import_command
from shoal.jax.stablehlo import import_stablehlo, supported_ops


def _read(path: str) -> str:
    return import_stablehlo(sys.stdin.buffer.read() if path == "-" else Path(path))


def main(words: Sequence[str] | None = None) -> int:
    """Returns the exit code; what is refused is one message on stderr."""
    input_help = "StableHLO: pretty or generic text, or bytecode; - for stdin"
    return import_command.run(words, "python -m shoal.jax", __doc__, input_help, _read, supported_ops)


if __name__ == "__main__":
    sys.exit(main())
