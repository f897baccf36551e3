# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program of ops of every family: convolution, windows, lookup, scatter, sort,
scan, padding, slice and a loop."""


def op_program(devices: int, spare: int) -> str:
    """Each device has 16 rows, but for `spare` rows of the last one. One of the
    two axes has size 4."""
    rows = 16 * devices - spare
    mesh = f'["x" = {devices // 4}, "y" = 4]'
    big, flat = f"tensor<{rows}x32xf32>", f"tensor<{rows}xi32>"
    image, kernel = f"tensor<1x{rows}x32xf32>", "tensor<3x32x32xf32>"
    spread = '#shoal.sharding<@mesh, [{"x", "y"}, {}]>'
    return f"""shoal.mesh @mesh = <{mesh}>
func.func @main(%x: {big} {{shoal.sharding = {spread}}}, %k: {kernel}, %i: {flat}, %w: tensor<32x32xf32>)
    -> ({big} {{shoal.sharding = {spread}}}, {big}, {flat}) {{
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %trips = arith.constant dense<4> : tensor<i32>
  %padding = arith.constant dense<0.0> : tensor<f32>
  %image = shoal.reshape %x : {big} -> {image}
  %c = shoal.convolution "b0f,0io->b0f" %image, %k low = [1] high = [1] : {image}, {kernel} -> {image}
  %conv = shoal.reshape %c : {image} -> {big}
  %p = shoal.pad %conv, %padding low = [2, 0] high = [0, 0] interior = [0, 0] : {big}, tensor<f32> -> tensor<{rows + 2}x32xf32>
  %s = shoal.slice %p starts = [1, 0] limits = [{rows + 1}, 32] strides = [1, 1] : tensor<{rows + 2}x32xf32> -> {big}
  %looked = shoal.gather %s, %i offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 32] : ({big}, {flat}) -> {big}
  %added = shoal.scatter sum %x, %i, %looked update_window_dims = [1] inserted_window_dims = [0]
      scatter_dims_to_operand_dims = [0] index_vector_dim = 1 : ({big}, {flat}, {big}) -> {big}
  %order = shoal.sort %i dim = 0 : ({flat}) -> {flat}
  %places = shoal.cumulative sum %order dim = 0 : {flat}
  %turned = shoal.sharding_constraint %added <@mesh, [{{"y"}}, {{"x"}}]> : {big}
  %sum = shoal.einsum "ab,bc->ac" %turned, %w : ({big}, tensor<32x32xf32>) -> {big}
  %r:2 = shoal.while (%n = %zero, %h = %sum) : tensor<i32>, {big} cond {{
    %more = arith.cmpi slt, %n, %trips : tensor<i32>
    shoal.yield %more : tensor<i1>
  }} do {{
    %next = arith.addi %n, %one : tensor<i32>
    %q = shoal.einsum "ab,bc->ac" %h, %w : ({big}, tensor<32x32xf32>) -> {big}
    %a = shoal.relu %q : {big}
    shoal.yield %next, %a : tensor<i32>, {big}
  }}
  return %r#1, %added, %places : {big}, {big}, {flat}
}}
"""
