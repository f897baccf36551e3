# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ops that have no counterpart, and why."""

from __future__ import annotations

from shoal.jax.registry import refuses

_HOST = "a program takes its arrays as arguments and gives them as results"
_STATIC = "a size that the program does not say; shapes are static"

refuses("stablehlo.send", "stablehlo.recv", "stablehlo.infeed", "stablehlo.outfeed", reason=_HOST)
refuses(
    "stablehlo.dynamic_broadcast_in_dim",
    "stablehlo.dynamic_conv",
    "stablehlo.dynamic_gather",
    "stablehlo.dynamic_iota",
    "stablehlo.dynamic_pad",
    "stablehlo.dynamic_reshape",
    "stablehlo.real_dynamic_slice",
    "stablehlo.set_dimension_size",
    reason=_STATIC,
)
refuses(
    "stablehlo.async_start",
    "stablehlo.async_done",
    reason="what starts apart from where it ends; the compiler overlaps collectives by itself",
)
refuses(
    "stablehlo.uniform_quantize",
    "stablehlo.uniform_dequantize",
    reason="quantised types; scales are arrays, and their products convert",
)
refuses("chlo.scan", reason="a scan as one op; stablehlo.while says the same")
