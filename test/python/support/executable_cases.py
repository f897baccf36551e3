# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for the tests of executables."""

import numpy as np

# x is split by rows over 4 devices; w is whole on each. Sums over all rows.
SCALED = """
shoal.mesh @mesh = <["d" = 4]>
func.func @scaled(
    %x: tensor<8x3xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}]>},
    %w: tensor<3xf32> {shoal.name = "w"})
    -> (tensor<8x3xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}]>},
        tensor<3xf32> {shoal.name = "sum"}) {
  %b = shoal.broadcast_in_dim %w dims = [1] : tensor<3xf32> -> tensor<8x3xf32>
  %y = arith.mulf %x, %b : tensor<8x3xf32>
  %s = shoal.reduce sum %y dims = [0] : tensor<8x3xf32> -> tensor<3xf32>
  return %y, %s : tensor<8x3xf32>, tensor<3xf32>
}
"""


def scaled_inputs():
    return {
        "x": np.arange(24, dtype=np.float32).reshape(8, 3),
        "w": np.array([1, -2, 0.5], np.float32),
    }


def scaled_outputs(x, w):
    return {"y": x * w, "sum": (x * w).sum(0)}


# 5 rows over 4 devices: shards of 2, 2, 1 and 0 rows.
UNEVEN = """
shoal.mesh @mesh = <["d" = 4]>
func.func @uneven(
    %x: tensor<5x2xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}]>})
    -> (tensor<5x2xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}]>},
        tensor<2xf32> {shoal.name = "sum"}) {
  %y = arith.addf %x, %x : tensor<5x2xf32>
  %s = shoal.reduce sum %y dims = [0] : tensor<5x2xf32> -> tensor<2xf32>
  return %y, %s : tensor<5x2xf32>, tensor<2xf32>
}
"""


# The same, which may write over x.
DONATED = SCALED.replace('{shoal.name = "x",', '{shoal.donated, shoal.name = "x",')


# Twice x, in x's memory.
DOUBLED = """
shoal.mesh @mesh = <["d" = 4]>
func.func @doubled(
    %x: tensor<8x3xf32> {shoal.donated, shoal.name = "x",
                         shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}]>})
    -> (tensor<8x3xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh, [{"d"}, {}]>}) {
  %y = arith.addf %x, %x : tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}
"""


# The host's function 0 on all of x, which is split.
CALLING = """
shoal.mesh @mesh = <["d" = 4]>
func.func @calling(
    %x: tensor<4xf32> {shoal.name = "x", shoal.sharding = #shoal.sharding<@mesh, [{"d"}]>})
    -> (tensor<4xf32> {shoal.name = "y", shoal.sharding = #shoal.sharding<@mesh, [{"d"}]>}) {
  %y = shoal.host_call 0 "answer"(%x) : (tensor<4xf32>) -> tensor<4xf32> loc("calling.mlir":8:3)
  return %y : tensor<4xf32>
}
"""

# Until the host answers by something other than 0.
CALLING_IN_LOOP = """
shoal.mesh @mesh = <["d" = 4]>
func.func @calling_in_loop(%x: tensor<f32> {shoal.name = "x"}) -> (tensor<f32> {shoal.name = "y"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %y = shoal.while (%k = %x) : tensor<f32> cond {
    %more = arith.cmpf oeq, %k, %zero : tensor<f32>
    shoal.yield %more : tensor<i1>
  } do {
    %next = shoal.host_call 0 "answer"(%k) : (tensor<f32>) -> tensor<f32>
    shoal.yield %next : tensor<f32>
  }
  return %y : tensor<f32>
}
"""


def identity(element, devices=2, attribute=""):
    """A program that gives back a vector of these elements, split over the devices."""
    sharding = f'shoal.sharding = #shoal.sharding<@mesh, [{{"d"}}]>{attribute}'
    return f"""
shoal.mesh @mesh = <["d" = {devices}]>
func.func @f(%x: tensor<{2 * devices}x{element}> {{{sharding}}})
    -> (tensor<{2 * devices}x{element}> {{{sharding}}}) {{
  return %x : tensor<{2 * devices}x{element}>
}}
"""


# Runs until it is ended: halves of ones never sum up to less than 0.
ENDLESS = """
shoal.mesh @mesh = <["d" = 2]>
func.func @endless(%x: tensor<2xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"d"}]>})
    -> tensor<2xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %y = shoal.while (%v = %x) : tensor<2xf32> cond {
    %s = shoal.reduce sum %v dims = [0] : tensor<2xf32> -> tensor<f32>
    %more = arith.cmpf oge, %s, %zero : tensor<f32>
    shoal.yield %more : tensor<i1>
  } do {
    %w = math.absf %v : tensor<2xf32>
    shoal.yield %w : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}
"""


# The step whose x has a zero on a rank fails there, with code 42.
FAILING = """
shoal.mesh @mesh = <["d" = 4]>
func.func @f(%x: tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"d"}]>}) -> tensor<f32> {
  %y = shoal.custom_call "fail_on_zero"(%x) {rule = "i->i"} : (tensor<4xf32>) -> tensor<4xf32>
  %s = shoal.reduce sum %y dims = [0] : tensor<4xf32> -> tensor<f32>
  return %s : tensor<f32>
}
"""
FAIL_ON_ZERO = """
#include "shoal/Runtime/CustomCall.h"
int fail_on_zero(const shoal_custom_call *call) {
  return *(const float *)call->operands->data == 0 ? 42 : 0;
}
"""
