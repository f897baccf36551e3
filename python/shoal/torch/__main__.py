# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m shoal.torch IN.pt2 -o OUT.mlir: an exported program in, a Shoal program out. Needs no torch."""

from __future__ import annotations

import argparse
import sys

from shoal.errors import ShoalError
from shoal.files import replace_file
from shoal.torch.importing import import_program, supported_ops


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m shoal.torch", description=__doc__)
    parser.add_argument("input", nargs="?", help="what torch.export.save has written")
    parser.add_argument("-o", dest="output", default="-", help="the Shoal program; - for stdout")
    parser.add_argument("--supported-ops", action="store_true", help="list the ops that can be imported")
    arguments = parser.parse_args(words)
    if not arguments.supported_ops and arguments.input is None:
        parser.error("the following arguments are required: input")
    return arguments


def main(words: list[str] | None = None) -> int:
    """Returns the exit code; what is refused is one message on stderr."""
    arguments = _arguments(words)
    if arguments.supported_ops:
        print("\n".join(supported_ops()))
        return 0
    try:
        text = import_program(arguments.input)
        if arguments.output == "-":
            sys.stdout.write(text)
        else:
            replace_file(arguments.output, text.encode())
    except (ShoalError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
