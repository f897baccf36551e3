# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `python -m shoal.jax` and `python -m shoal.torch` have in common: a program in, a Shoal program out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from shoal.errors import ShoalError
from shoal.files import replace_file

__all__ = ["run"]


def run(
    words: Sequence[str] | None,
    prog: str,
    description: str | None,
    input_help: str,
    read: Callable[[str], str],
    supported_ops: Callable[[], Sequence[str]],
) -> int:
    """Returns the exit code; what is refused is one message on stderr. read: the program's text, of the input's path."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("input", nargs="?", help=input_help)
    parser.add_argument("-o", dest="output", default="-", help="the Shoal program; - for stdout")
    parser.add_argument("--supported-ops", action="store_true", help="list the ops that can be imported")
    arguments = parser.parse_args(words)
    if arguments.supported_ops:
        print("\n".join(supported_ops()))
        return 0
    if arguments.input is None:
        parser.error("the following arguments are required: input")
    try:
        text = read(arguments.input)
        if arguments.output == "-":
            sys.stdout.write(text)
        else:
            replace_file(arguments.output, text.encode())
    except (ShoalError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0
