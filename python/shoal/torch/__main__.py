# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m shoal.torch IN.pt2 -o OUT.mlir: an exported program in, a Shoal program out. Needs no torch."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from shoal import import_command
from shoal.torch.importing import import_program, supported_ops


def main(words: Sequence[str] | None = None) -> int:
    """Returns the exit code; what is refused is one message on stderr."""
    input_help = "what torch.export.save has written"
    return import_command.run(words, "python -m shoal.torch", __doc__, input_help, import_program, supported_ops)


if __name__ == "__main__":
    sys.exit(main())
