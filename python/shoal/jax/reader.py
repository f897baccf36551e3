# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of its own, which makes text of MLIR's bytecode: MLIR's reader ends its process, or has no end, for bytes
that are damaged.

Usage: python -I reader.py FILE BYTES SECONDS FOLDER...: the memory and the processor's time that it may have, and where
Python finds jaxlib. The text is on stdout; where the file cannot be read, the status is 1 and the reason on stderr. Imports
nothing of Shoal's, nor JAX itself.
"""

from __future__ import annotations

import resource
import sys


def _limit(memory: int, seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


def _text(data: bytes) -> bytes:
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, mhlo, mpmd, sdy, stablehlo

    known = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(known)
    with ir.Context() as context:
        context.enable_multithreading(False)  # threads have addresses that count
        context.append_dialect_registry(known)
        context.load_all_available_dialects()
        for dialect in (chlo, mpmd, sdy, stablehlo):
            dialect.register_dialect(context)
        mhlo.register_mhlo_dialect(context)
        try:
            if b"StableHLO_v" in data[:64]:  # the producer's name in a portable artifact
                module = stablehlo.deserialize_portable_artifact(context, data)
            else:
                module = ir.Module.parse(data, context)
        except ir.MLIRError as error:
            sys.exit("; ".join(found.message for found in error.error_diagnostics))
        except (ValueError, RuntimeError) as error:
            sys.exit(str(error))
        return module.operation.get_asm(binary=True, enable_debug_info=True, print_generic_op_form=True)


def main() -> None:
    """Of the command line."""
    file, memory, seconds, *sys.path = sys.argv[1:]
    _limit(int(memory), int(seconds))
    with open(file, "rb") as source:
        data = source.read()
    sys.stdout.buffer.write(_text(data))


if __name__ == "__main__":
    main()
