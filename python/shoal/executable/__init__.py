# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs: how to make, run, save and load them."""

from shoal.executable.call_structure import CallStructure
from shoal.executable.compiler import (
    compile_text,
    format_text,
    partition_text,
    statistics_of_text,
)
from shoal.executable.executable import Executable, load
from shoal.executable.options import CompileOptions
from shoal.executable.session import Session, Shard
from shoal.executable.signature import Signature, Tensor

__all__ = [
    "CallStructure",
    "CompileOptions",
    "Executable",
    "Session",
    "Shard",
    "Signature",
    "Tensor",
    "compile_text",
    "format_text",
    "load",
    "partition_text",
    "statistics_of_text",
]
