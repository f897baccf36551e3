# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Situations that tests of partitioners are about, as StableHLO: XLA's SPMD partitioner, Shardy.

Each is a program of our own over 8 devices, which Shoal imports, partitions and runs with the global
program's numbers, or refuses for a reason that is part of it. `docs/results/PartitionerSituations.md`
lists them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Situation:
    """refused: a part of the message where Shoal refuses it, and `why` in a sentence."""

    name: str
    text: str
    refused: str | None = None
    why: str = ""


SITUATIONS: dict[str, Situation] = {}

T = "tensor<8x8xf32>"
M = 'sdy.mesh @m = <["x"=2, "y"=4]>\n'
_ROWS = '{mhlo.sharding = "{devices=[8,1]<=[8]}"}'
_CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"


def situation(name: str, text: str, refused: str | None = None, why: str = "") -> None:
    SITUATIONS[name] = Situation(name, text, refused, why)


def main(body: str, arguments: str = f"%a: {T} {_ROWS}", results: str = T) -> str:
    return f"func.func public @main({arguments}) -> ({results}) {{\n{body}\n}}\n"


def annotated(sharding: str, value: str, name: str, type: str = T) -> str:
    """A custom call @Sharding."""
    return (
        f'{name} = stablehlo.custom_call @Sharding({value}) {{mhlo.sharding = "{sharding}"}}'
        f" : ({type}) -> {type}\n"
    )


def sum_region() -> str:
    return """({
      ^bb0(%left: tensor<f32>, %right: tensor<f32>):
        %both = stablehlo.add %left, %right : tensor<f32>
        stablehlo.return %both : tensor<f32>
    })"""


# Values on one device, on some, on all.

situation(
    "one_device_to_all",
    main(annotated("{maximal device=0}", "%a", "%0") + annotated("{replicated}", "%0", "%1") + f"return %1 : {T}"),
)
situation(
    "one_device_to_another",
    main(annotated("{maximal device=2}", "%a", "%0") + annotated("{maximal device=5}", "%0", "%1") + f"return %1 : {T}"),
)
situation(
    "one_device_to_tiles",
    main(annotated("{maximal device=7}", "%a", "%0") + annotated("{devices=[2,4]<=[8]}", "%0", "%1") + f"return %1 : {T}"),
)
situation(
    "tiles_to_tiles_of_another_dimension",
    main(annotated("{devices=[8,1]<=[8]}", "%a", "%0") + annotated("{devices=[1,8]<=[8]}", "%0", "%1") + f"return %1 : {T}"),
)
situation(
    "more_shards_than_rows_to_tiles_of_other_dimensions",
    M
    + """func.func public @main(%a: tensor<8x4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y", "x"}, {}]>})
        -> (tensor<8x4x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x"}, {}, {"y"}]>}) {
      %0 = sdy.reshard %a <@m, [{"x"}, {}, {"y"}]> : tensor<8x4x8xf32>
      return %0 : tensor<8x4x8xf32>
    }
    """,
)
situation(
    "uneven_tiles_in_listed_order",
    main(
        annotated("{devices=[4,1,2]3,1,0,2,5,7,6,4 last_tile_dim_replicate}", "%a", "%0", "tensor<7x5xf32>")
        + annotated("{devices=[1,8]<=[8]}", "%0", "%1", "tensor<7x5xf32>")
        + "return %1 : tensor<7x5xf32>",
        arguments="%a: tensor<7x5xf32>",
        results="tensor<7x5xf32>",
    ),
)
situation(
    "partly_replicated_to_partly_replicated",
    main(
        annotated("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", "%a", "%0")
        + annotated("{devices=[1,4,2]<=[4,2]T(1,0) last_tile_dim_replicate}", "%0", "%1")
        + f"return %1 : {T}"
    ),
)
situation(
    "tuple_with_a_sharding_for_each_part",
    main(
        f"""%0 = stablehlo.tuple %a, %a {{mhlo.sharding = "{{{{devices=[8,1]<=[8]}}, {{maximal device=1}}}}"}} : tuple<{T}, {T}>
        %1 = stablehlo.get_tuple_element %0[1] {{mhlo.sharding = "{{devices=[1,8]<=[8]}}"}} : (tuple<{T}, {T}>) -> {T}
        return %1 : {T}"""
    ),
)
situation(
    "device_order_of_a_reversed_mesh",
    'sdy.mesh @m = <["x"=2, "y"=4]>\nsdy.mesh @n = <["x"=2, "y"=4], device_ids=[7,6,5,4,3,2,1,0]>\n'
    + main(
        f"""%0 = sdy.sharding_constraint %a <@m, [{{"x"}}, {{"y"}}]> : {T}
        %1 = stablehlo.tanh %0 : {T}
        %2 = sdy.sharding_constraint %1 <@n, [{{"y"}}, {{"x"}}]> : {T}
        return %2 : {T}""",
        arguments=f"%a: {T}",
    ),
)

# Ops on split dimensions.

situation(
    "reduction_of_several_operands",
    main(
        """%z = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %n = stablehlo.constant dense<0> : tensor<i32>
        %i = stablehlo.iota dim = 1 : tensor<8x8xi32>
        %0:2 = stablehlo.reduce(%a init: %z), (%i init: %n) across dimensions = [1]
          : (tensor<8x8xf32>, tensor<8x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<8xf32>, tensor<8xi32>)
          reducer(%l: tensor<f32>, %r: tensor<f32>) (%li: tensor<i32>, %ri: tensor<i32>) {
            %g = stablehlo.compare GE, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
            %v = stablehlo.select %g, %l, %r : tensor<i1>, tensor<f32>
            %k = stablehlo.select %g, %li, %ri : tensor<i1>, tensor<i32>
            stablehlo.return %v, %k : tensor<f32>, tensor<i32>
          }
        return %0#0, %0#1 : tensor<8xf32>, tensor<8xi32>""",
        arguments='%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[1,8]<=[8]}"}',
        results="tensor<8xf32>, tensor<8xi32>",
    ),
)
situation(
    "broadcast_whose_new_dimension_is_split",
    main(
        """%0 = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<8x8xf32>) -> tensor<4x8x8xf32>
        %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[4,1,1,2]<=[8] last_tile_dim_replicate}"}
          : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
        return %1 : tensor<4x8x8xf32>""",
        results="tensor<4x8x8xf32>",
    ),
)
situation(
    "window_with_strides_padding_and_dilation",
    main(
        """%z = stablehlo.constant dense<0.0> : tensor<f32>
        %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 3, 1>,
          window_strides = array<i64: 2, 1>, base_dilations = array<i64: 2, 1>, window_dilations = array<i64: 2, 1>,
          padding = dense<[[2, 3], [0, 0]]> : tensor<2x2xi64>}> """
        + sum_region()
        + """ : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
        return %0 : tensor<8x8xf32>"""
    ),
)
_IMAGE = '%a: tensor<1x16x8x4xf32> {mhlo.sharding = "{devices=[1,8,1,1]<=[8]}"}'
situation(
    "convolution_along_a_split_dimension",
    main(
        """%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
          window = {stride = [2, 1], pad = [[1, 2], [1, 1]], lhs_dilate = [2, 1], rhs_dilate = [1, 1]}
          {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
          : (tensor<1x16x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x16x8x6xf32>
        return %0 : tensor<1x16x8x6xf32>""",
        arguments=f"{_IMAGE}, %k: tensor<3x3x4x6xf32>",
        results="tensor<1x16x8x6xf32>",
    ),
)
situation(
    "convolution_with_groups_of_features",
    main(
        """%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
          window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
          {batch_group_count = 1 : i64, feature_group_count = 8 : i64}
          : (tensor<2x6x6x8xf32>, tensor<3x3x1x16xf32>) -> tensor<2x6x6x16xf32>
        return %0 : tensor<2x6x6x16xf32>""",
        arguments='%a: tensor<2x6x6x8xf32> {mhlo.sharding = "{devices=[1,1,1,8]<=[8]}"}, %k: tensor<3x3x1x16xf32>',
        results="tensor<2x6x6x16xf32>",
    ),
)
situation(
    "convolution_with_groups_of_batches",
    main(
        """%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
          window = {stride = [1, 1], pad = [[1, 1], [1, 1]]}
          {batch_group_count = 4 : i64, feature_group_count = 1 : i64}
          : (tensor<8x6x6x3xf32>, tensor<3x3x3x8xf32>) -> tensor<2x6x6x8xf32>
        return %0 : tensor<2x6x6x8xf32>""",
        arguments='%a: tensor<8x6x6x3xf32> {mhlo.sharding = "{devices=[8,1,1,1]<=[8]}"}, %k: tensor<3x3x3x8xf32>',
        results="tensor<2x6x6x8xf32>",
    ),
)
situation(
    "concatenation_along_a_split_dimension",
    main(
        """%0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<8x8xf32>, tensor<5x8xf32>) -> tensor<13x8xf32>
        %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<13x8xf32>) -> tensor<13x8xf32>
        return %1 : tensor<13x8xf32>""",
        arguments=f"%a: {T} {_ROWS}, %b: tensor<5x8xf32>",
        results="tensor<13x8xf32>",
    ),
)
situation(
    "negative_and_interior_padding",
    main(
        """%z = stablehlo.constant dense<1.5> : tensor<f32>
        %0 = stablehlo.pad %a, %z, low = [-2, 1], high = [3, -1], interior = [1, 0]
          : (tensor<8x8xf32>, tensor<f32>) -> tensor<16x8xf32>
        return %0 : tensor<16x8xf32>""",
        results="tensor<16x8xf32>",
    ),
)
situation(
    "strided_slice_along_a_split_dimension",
    main(
        "%0 = stablehlo.slice %a [1:8:3, 2:7] : (tensor<8x8xf32>) -> tensor<3x5xf32>\nreturn %0 : tensor<3x5xf32>",
        results="tensor<3x5xf32>",
    ),
)
situation(
    "reversal_of_a_split_dimension",
    main(f"%0 = stablehlo.reverse %a, dims = [0, 1] : {T}\nreturn %0 : {T}"),
)
situation(
    "sort_of_two_operands_along_a_split_dimension",
    main(
        """%i = stablehlo.iota dim = 0 : tensor<8x8xi32>
        %0:2 = "stablehlo.sort"(%a, %i) <{dimension = 0 : i64, is_stable = true}> ({
          ^bb0(%l: tensor<f32>, %r: tensor<f32>, %li: tensor<i32>, %ri: tensor<i32>):
            %c = stablehlo.compare GT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
        }) : (tensor<8x8xf32>, tensor<8x8xi32>) -> (tensor<8x8xf32>, tensor<8x8xi32>)
        return %0#0, %0#1 : tensor<8x8xf32>, tensor<8x8xi32>""",
        results=f"{T}, tensor<8x8xi32>",
    ),
)
situation(
    "largest_of_a_split_dimension",
    main(
        """%0:2 = chlo.top_k(%a, k = 3) : tensor<8x8xf32> -> (tensor<8x3xf32>, tensor<8x3xi32>)
        return %0#0, %0#1 : tensor<8x3xf32>, tensor<8x3xi32>""",
        arguments='%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[1,8]<=[8]}"}',
        results="tensor<8x3xf32>, tensor<8x3xi32>",
    ),
)
situation(
    "largest_by_a_custom_call",
    main(
        """%0:2 = stablehlo.custom_call @TopK(%a) {called_computations = [@greater]}
          : (tensor<8x8xf32>) -> (tensor<8x3xf32>, tensor<8x3xi32>)
        return %0#0, %0#1 : tensor<8x3xf32>, tensor<8x3xi32>""",
        results="tensor<8x3xf32>, tensor<8x3xi32>",
    )
    + """func.func private @greater(%l: tensor<f32>, %r: tensor<f32>, %li: tensor<i32>, %ri: tensor<i32>) -> tensor<i1> {
      %c = stablehlo.compare GT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
      return %c : tensor<i1>
    }""",
)
situation(
    "reshape_that_merges_and_cuts_split_dimensions",
    main(
        """%0 = stablehlo.reshape %a : (tensor<8x8xf32>) -> tensor<2x32xf32>
        %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[2,4]<=[8]}"} : (tensor<2x32xf32>) -> tensor<2x32xf32>
        %2 = stablehlo.reshape %1 : (tensor<2x32xf32>) -> tensor<4x4x4xf32>
        return %2 : tensor<4x4x4xf32>""",
        results="tensor<4x4x4xf32>",
    ),
)
situation(
    "bits_of_wider_elements",
    main(
        """%0 = stablehlo.bitcast_convert %a : (tensor<8x8xf32>) -> tensor<8x8x2xbf16>
        %1 = stablehlo.bitcast_convert %0 : (tensor<8x8x2xbf16>) -> tensor<8x8xf32>
        return %1 : tensor<8x8xf32>"""
    ),
)
situation(
    "product_in_an_order_of_devices_of_its_own",
    main(
        f"""%0 = stablehlo.dot %a, %b {{mhlo.sharding = "{{devices=[1,2,4]4,6,5,7,0,2,1,3 last_tile_dim_replicate}}"}} : ({T}, {T}) -> {T}
        return %0 : {T}""",
        arguments=f'%a: {T} {{mhlo.sharding = "{{devices=[1,4,2]7,3,0,4,2,6,1,5 last_tile_dim_replicate}}"}},'
        f' %b: {T} {{mhlo.sharding = "{{devices=[4,2]7,3,4,0,6,2,5,1}}"}}',
    ),
)
situation(
    "product_whose_operands_contract_split_dimensions",
    main(
        annotated("{devices=[2,4]<=[8]}", "%b", "%1")
        + """%2 = stablehlo.dot_general %a, %1, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
        return %2 : tensor<8x8xf32>""",
        arguments=f"%a: {T} {_ROWS}, %b: {T}",
    ),
)
situation(
    "fourier_transform_of_volumes",
    main(
        """%0 = stablehlo.convert %a : (tensor<8x4x8xf32>) -> tensor<8x4x8xcomplex<f32>>
        %1 = stablehlo.fft %0, type = FFT, length = [8, 4, 8] : (tensor<8x4x8xcomplex<f32>>) -> tensor<8x4x8xcomplex<f32>>
        %2 = stablehlo.imag %1 : (tensor<8x4x8xcomplex<f32>>) -> tensor<8x4x8xf32>
        return %2 : tensor<8x4x8xf32>""",
        arguments='%a: tensor<8x4x8xf32> {mhlo.sharding = "{devices=[8,1,1]<=[8]}"}',
        results="tensor<8x4x8xf32>",
    ),
)
situation(
    "triangles_of_split_batches",
    main(
        """%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = true,
          transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<8x4x4xf32>, tensor<8x4x2xf32>) -> tensor<8x4x2xf32>
        return %0 : tensor<8x4x2xf32>""",
        arguments='%a: tensor<8x4x4xf32> {mhlo.sharding = "{devices=[8,1,1]<=[8]}"}, %b: tensor<8x4x2xf32>',
        results="tensor<8x4x2xf32>",
    ),
)
situation(
    "gather_with_indices_along_a_split_dimension",
    main(
        """%i = stablehlo.constant dense<[[5], [0], [7], [7], [2]]> : tensor<5x1xi32>
        %0 = "stablehlo.gather"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
          collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
          slice_sizes = array<i64: 1, 8>, indices_are_sorted = false}> : (tensor<8x8xf32>, tensor<5x1xi32>) -> tensor<5x8xf32>
        return %0 : tensor<5x8xf32>""",
        results="tensor<5x8xf32>",
    ),
)
situation(
    "scatter_into_a_split_dimension",
    main(
        """%i = stablehlo.constant dense<[[5], [0], [5]]> : tensor<3x1xi32>
        %u = stablehlo.constant dense<2.0> : tensor<3x8xf32>
        %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
          indices_are_sorted = false, unique_indices = false}> """
        + sum_region()
        + """ : (tensor<8x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<8x8xf32>
        return %0 : tensor<8x8xf32>"""
    ),
)
situation(
    "scatter_of_two_operands_at_once",
    main(
        """%i = stablehlo.constant dense<[[5], [0], [3]]> : tensor<3x1xi32>
        %u = stablehlo.constant dense<2.0> : tensor<3x8xf32>
        %0:2 = "stablehlo.scatter"(%a, %b, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
          inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
          indices_are_sorted = false, unique_indices = false}> ({
          ^bb0(%l: tensor<f32>, %k: tensor<f32>, %r: tensor<f32>, %q: tensor<f32>):
            %s = stablehlo.add %l, %r : tensor<f32>
            %t = stablehlo.maximum %k, %q : tensor<f32>
            stablehlo.return %s, %t : tensor<f32>, tensor<f32>
        }) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>, tensor<3x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>)
        return %0#0, %0#1 : tensor<8x8xf32>, tensor<8x8xf32>""",
        arguments=f"%a: {T} {_ROWS}, %b: {T}",
        results=f"{T}, {T}",
    ),
)
situation(
    "update_at_a_place_known_at_run_time",
    main(
        """%u = stablehlo.constant dense<3.0> : tensor<2x8xf32>
        %z = stablehlo.constant dense<0> : tensor<i32>
        %0 = stablehlo.dynamic_update_slice %a, %u, %i, %z : (tensor<8x8xf32>, tensor<2x8xf32>, tensor<i32>, tensor<i32>) -> tensor<8x8xf32>
        %1 = stablehlo.dynamic_slice %0, %i, %z, sizes = [3, 8] : (tensor<8x8xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>
        return %1 : tensor<3x8xf32>""",
        arguments=f"%a: {T} {_ROWS}, %i: tensor<i32>",
        results="tensor<3x8xf32>",
    ),
)
situation(
    "random_bits_of_a_split_result",
    main(
        """%s = stablehlo.constant dense<[7, 11]> : tensor<2xui64>
        %0, %1 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY {mhlo.sharding = "{{replicated}, {devices=[8,1]<=[8]}}"}
          : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x8xui32>)
        return %1 : tensor<8x8xui32>""",
        arguments="",
        results="tensor<8x8xui32>",
    ),
)
situation(
    "random_bits_by_the_default_algorithm",
    main(
        """%s = stablehlo.constant dense<[7, 11, 13]> : tensor<3xui64>
        %0, %1 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8x8xui32>)
        return %1 : tensor<8x8xui32>""",
        results="tensor<8x8xui32>",
    ),
)
situation(
    "random_numbers_that_are_left_open",
    main(
        """%l = stablehlo.constant dense<0.0> : tensor<f32>
        %h = stablehlo.constant dense<1.0> : tensor<f32>
        %n = stablehlo.constant dense<[8, 8]> : tensor<2xi64>
        %0 = stablehlo.rng %l, %h, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<8x8xf32>
        return %0 : tensor<8x8xf32>""",
    ),
)

# Control flow.

situation(
    "branches_that_annotate_differently",
    main(
        f"""%0 = "stablehlo.if"(%p) ({{
          {annotated("{devices=[8,1]<=[8]}", "%a", "%1")}
          stablehlo.return %1 : {T}
        }}, {{
          {annotated("{devices=[1,8]<=[8]}", "%a", "%1")}
          %2 = stablehlo.negate %1 : {T}
          stablehlo.return %2 : {T}
        }}) {{mhlo.sharding = "{{replicated}}"}} : (tensor<i1>) -> {T}
        return %0 : {T}""",
        arguments=f"%a: {T} {_ROWS}, %p: tensor<i1>",
    ),
)
situation(
    "loop_that_carries_a_tuple_of_shardings",
    main(
        f"""%z = stablehlo.constant dense<0> : tensor<i32>
        %e = stablehlo.constant dense<3> : tensor<i32>
        %o = stablehlo.constant dense<1> : tensor<i32>
        %0:2 = stablehlo.while(%i = %z, %v = %a) : tensor<i32>, {T}
          attributes {{mhlo.sharding = "{{{{replicated}}, {{devices=[2,4]<=[8]}}}}"}}
          cond {{
            %c = stablehlo.compare LT, %i, %e : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1>
          }} do {{
            %n = stablehlo.add %i, %o : tensor<i32>
            %w = stablehlo.dot_general %v, %v, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}
            %t = stablehlo.tanh %w : {T}
            stablehlo.return %n, %t : tensor<i32>, {T}
          }}
        return %0#1 : {T}"""
    ),
)

# Parts for one device.

_FULL = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"


def between_shapes(body: str, manual: str, sharding: str, inner: str) -> str:
    """GSPMD's form: %l is the shard, %m what the body makes of it."""
    return (
        annotated(sharding, "%a", "%0")
        + f"""%l = stablehlo.custom_call @SPMDFullToShardShape(%0) {{mhlo.sharding = "{manual}"}} : ({T}) -> {inner}
        {body}
        %5 = stablehlo.custom_call @SPMDShardToFullShape(%m) {{mhlo.sharding = "{sharding}"}} : ({inner}) -> {T}
        return %5 : {T}"""
    )


situation(
    "part_for_one_device_along_some_axes",
    main(
        between_shapes(
            "%m = stablehlo.tanh %l : tensor<4x8xf32>",
            "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}",
            _FULL,
            "tensor<4x8xf32>",
        ),
        arguments=f"%a: {T}",
    ),
)
situation(
    "part_for_one_device_in_another",
    main(
        between_shapes(
            """%6 = stablehlo.custom_call @Sharding(%l) {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"}
              : (tensor<4x8xf32>) -> tensor<4x8xf32>
            %7 = stablehlo.custom_call @SPMDFullToShardShape(%6) {mhlo.sharding = "{manual}"} : (tensor<4x8xf32>) -> tensor<4x2xf32>
            %8 = "stablehlo.all_reduce"(%7) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, """
            + _CHANNEL
            + ", use_global_device_ids}> "
            + sum_region()
            + """ : (tensor<4x2xf32>) -> tensor<4x2xf32>
            %9 = stablehlo.subtract %7, %8 : tensor<4x2xf32>
            %m = stablehlo.custom_call @SPMDShardToFullShape(%9) {mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={manual}}"}
              : (tensor<4x2xf32>) -> tensor<4x8xf32>""",
            "{devices=[1,1,2,4]<=[8] last_tile_dims={manual, replicated}}",
            _FULL,
            "tensor<4x8xf32>",
        ),
        arguments=f"%a: {T}",
    ),
)


def manual(body: str, axes: str = '"x"', sharding: str = '<@m, [{"x"}, {}]>', inner: str = "tensor<4x8xf32>") -> str:
    """Shardy's form: %p is the shard, %r what the body makes of it."""
    return M + main(
        f"""%0 = sdy.manual_computation(%a) in_shardings=[{sharding}] out_shardings=[{sharding}]
          manual_axes={{{axes}}} (%p: {inner}) {{
          {body}
          sdy.return %r : {inner}
        }} : ({T}) -> {T}
        return %0 : {T}""",
        arguments=f"%a: {T}",
    )


situation(
    "manual_computation_in_another_over_other_axes",
    manual(
        """%r = sdy.manual_computation(%p) in_shardings=[<@m, [{}, {"y"}]>] out_shardings=[<@m, [{}, {"y"}]>]
          manual_axes={"y"} (%q: tensor<4x2xf32>) {
          %s = stablehlo.tanh %q : tensor<4x2xf32>
          sdy.return %s : tensor<4x2xf32>
        } : (tensor<4x8xf32>) -> tensor<4x8xf32>"""
    ),
)
situation(
    "broadcast_from_one_device_of_each_group",
    manual(
        f"""%r = "stablehlo.collective_broadcast"(%p) <{{replica_groups = dense<[[1, 0, 2, 3], [5, 4, 6, 7]]> : tensor<2x4xi64>,
          {_CHANNEL}}}> : (tensor<2x8xf32>) -> tensor<2x8xf32>""",
        '"x", "y"',
        '<@m, [{"y"}, {}]>',
        "tensor<2x8xf32>",
    ),
)
situation(
    "collective_outside_of_any_part",
    main(
        f"""%0 = "stablehlo.all_reduce"(%a) <{{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>,
          {_CHANNEL}, use_global_device_ids}}> {sum_region()} : ({T}) -> {T}
        return %0 : {T}"""
    ),
    "outside of a region",
    "of a whole value there are no devices' own ones that it could combine",
)
situation(
    "number_of_the_device_outside_of_any_part",
    main("%0 = stablehlo.partition_id : tensor<ui32>\nreturn %0 : tensor<ui32>", results="tensor<ui32>"),
    "outside of a region",
    "a whole value is the same on all devices, and their numbers are not",
)
situation(
    "groups_that_no_axes_make",
    manual(
        f"""%r = "stablehlo.all_reduce"(%p) <{{replica_groups = dense<[[0, 5], [1, 4], [2, 6], [3, 7]]> : tensor<4x2xi64>,
          {_CHANNEL}, use_global_device_ids}}> {sum_region()} : (tensor<4x8xf32>) -> tensor<4x8xf32>"""
    ),
    "are no axes of @m",
    "groups are named by axes, so that a program does not grow with the number of devices",
)

# Sums that are left pending.

situation(
    "unreduced_product",
    M
    + main(
        f"""%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}
        %1 = sdy.sharding_constraint %0 <@m, [{{"x"}}, {{}}], unreduced={{"y"}}> : {T}
        %2 = sdy.reduce_scatter [{{}}, {{"y"}}] %1 out_sharding=<@m, [{{"x"}}, {{"y"}}]> : {T}
        return %2 : {T}""",
        arguments=f'%a: {T} {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{"y"}}]>}},'
        f' %b: {T} {{sdy.sharding = #sdy.sharding<@m, [{{"y"}}, {{}}]>}}',
    ),
)
situation(
    "unreduced_argument_and_result",
    M
    + main(
        f"%0 = stablehlo.add %a, %a : {T}\nreturn %0 : {T}",
        arguments=f'%a: {T} {{sdy.sharding = #sdy.sharding<@m, [{{"x"}}, {{}}], unreduced={{"y"}}>}}',
        results=f'{T} {{sdy.sharding = #sdy.sharding<@m, [{{}}, {{}}], unreduced={{"x", "y"}}>}}',
    ),
)
situation(
    "tiles_to_unreduced",
    M
    + main(
        f"""%0 = sdy.sharding_constraint %a <@m, [{{"y"}}, {{}}]> : {T}
        %1 = sdy.sharded_to_unreduced [{{"y"}}, {{}}] %0 out_sharding=<@m, [{{}}, {{}}], unreduced={{"y"}}> : {T}
        %2 = sdy.replicated_to_unreduced {{"x"}} %1 out_sharding=<@m, [{{}}, {{}}], unreduced={{"x", "y"}}> : {T}
        %3 = sdy.all_reduce {{"x", "y"}} %2 out_sharding=<@m, [{{}}, {{}}]> : {T}
        return %3 : {T}""",
        arguments=f"%a: {T}",
    ),
)
situation(
    "unreduced_subgroup_of_a_tile_assignment",
    main(
        f"""%0 = stablehlo.add %a, %a {{mhlo.sharding = "{{devices=[2,1,4]<=[8] last_tile_dims={{unreduced}}}}"}} : {T}
        %1 = stablehlo.tanh %0 : {T}
        return %1 : {T}"""
    ),
)
situation(
    "unreduced_truth_values",
    M
    + main(
        f"""%0 = stablehlo.compare LT, %a, %a : ({T}, {T}) -> tensor<8x8xi1>
        %1 = sdy.sharding_constraint %0 <@m, [{{}}, {{}}], unreduced={{"y"}}> : tensor<8x8xi1>
        return %1 : tensor<8x8xi1>""",
        results="tensor<8x8xi1>",
    ),
    "elements of 'i1' are no addends of a sum",
    "truth values do not add up",
)
situation(
    "unreduced_maximum",
    M
    + main(
        f"""%z = stablehlo.constant dense<0xFF800000> : tensor<f32>
        %0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [0] : ({T}, tensor<f32>) -> tensor<8xf32>
        %1 = sdy.sharding_constraint %0 <@m, [{{}}], unreduced={{"y"}}> : tensor<8xf32>
        return %1 : tensor<8xf32>""",
        results="tensor<8xf32>",
    ),
    "of what is no sum but a max",
    "what devices hold of a maximum are no addends, and Shardy has a word for sums alone",
)

# What only steers, and what is kept where.

situation(
    "barriers_and_places",
    main(
        f"""%0 = stablehlo.custom_call @ShardBarrierFrom(%a) : ({T}) -> {T}
        %1 = stablehlo.custom_call @ShardBarrierTo(%0) : ({T}) -> {T}
        %2 = stablehlo.custom_call @PinToDevice(%1) : ({T}) -> {T}
        %3 = stablehlo.custom_call @annotate_device_placement(%2) {{mhlo.frontend_attributes = {{_xla_buffer_placement = "pinned_host"}}}}
          : ({T}) -> {T}
        return %3 : {T}"""
    ),
)
situation(
    "priorities_open_dimensions_and_sub_axes",
    M
    + main(
        f"""%0 = sdy.sharding_constraint %a <@m, [{{"y":(1)2, ?}}p1, {{?}}p2], replicated={{"x"}}> : {T}
        %1 = sdy.propagation_barrier %0 allowed_direction=BACKWARD : {T}
        sdy.sharding_group %1 group_id=7 : {T}
        return %1 : {T}""",
        arguments=f"%a: {T}",
    ),
)
situation(
    "constants_and_named_computations_of_shardy",
    M
    + main(
        f"""%c = sdy.constant dense<2.0> : {T}
        %0 = sdy.named_computation<"twice">(%a, %c) in_shardings=[<@m, [{{"x"}}, {{}}]>, <@m, [{{?}}, {{?}}]>] out_shardings=[<@m, [{{"y"}}, {{}}]>]
          (%p: {T}, %q: {T}) {{
          %1 = stablehlo.multiply %p, %q : {T}
          sdy.return %1 : {T}
        }} : ({T}, {T}) -> {T}
        return %0 : {T}""",
        arguments=f"%a: {T}",
    ),
)
situation(
    "sharding_rule_beside_an_op",
    M
    + main(
        f"""%0 = sdy.sharding_constraint %a <@m, [{{"x"}}, {{"y"}}]> : {T}
        %1 = stablehlo.add %0, %0 {{sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {{i=8, j=8}}>}} : {T}
        return %1 : {T}""",
        arguments=f"%a: {T}",
    ),
)
situation(
    "sharding_rule_beside_an_unknown_function",
    main(
        f"""%0 = stablehlo.custom_call @elsewhere(%a)
          {{sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {{i=8, j=8}}, custom>}} : ({T}) -> {T}
        return %0 : {T}"""
    ),
    "custom_call @elsewhere",
    "a rule says how to split a function, and not what it computes: its body is in no program",
)

# What has no shape or no value before it runs.

situation(
    "feeds",
    main(
        f"""%t = stablehlo.create_token : !stablehlo.token
        %0:2 = "stablehlo.infeed"(%t) <{{infeed_config = "", layout = [[1, 0]]}}> : (!stablehlo.token) -> ({T}, !stablehlo.token)
        return %0#0 : {T}"""
    ),
    "stablehlo.infeed",
    "programs take arguments and callbacks; there is no queue that devices read",
)
situation(
    "sends_and_receives",
    main(
        f"""%t = stablehlo.create_token : !stablehlo.token
        %0 = "stablehlo.send"(%a, %t) <{{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>,
          is_host_transfer = true}}> : ({T}, !stablehlo.token) -> !stablehlo.token
        return %a : {T}"""
    ),
    "stablehlo.send",
    "a callback says the same, and which function answers",
)
situation(
    "sizes_known_at_run_time",
    main(
        f"""%0 = stablehlo.set_dimension_size %a, %n, dim = 0 : ({T}, tensor<i32>) -> tensor<?x8xf32, #stablehlo.bounds<8, ?>>
        %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?x8xf32, #stablehlo.bounds<8, ?>>) -> tensor<i32>
        return %1 : tensor<i32>""",
        arguments=f"%a: {T} {_ROWS}, %n: tensor<i32>",
        results="tensor<i32>",
    ),
    "has no static shape",
    "shapes are static: blocks and memory are planned before a program runs",
)
situation(
    "dynamic_ops_of_static_shapes",
    main(
        """%s = stablehlo.constant dense<[4, 16]> : tensor<2xi64>
        %0 = stablehlo.dynamic_reshape %a, %s : (tensor<8x8xf32>, tensor<2xi64>) -> tensor<4x16xf32>
        %d = stablehlo.constant dense<[3, 4, 16]> : tensor<3xi64>
        %1 = stablehlo.dynamic_broadcast_in_dim %0, %d, dims = [1, 2] : (tensor<4x16xf32>, tensor<3xi64>) -> tensor<3x4x16xf32>
        return %1 : tensor<3x4x16xf32>""",
        results="tensor<3x4x16xf32>",
    ),
)
situation(
    "quantised_types",
    main(
        f"""%0 = stablehlo.uniform_quantize %a : ({T}) -> tensor<8x8x!quant.uniform<i8:f32, 0.5:0>>
        %1 = stablehlo.uniform_dequantize %0 : (tensor<8x8x!quant.uniform<i8:f32, 0.5:0>>) -> {T}
        return %1 : {T}"""
    ),
    "not a StableHLO program",
    "types are those that devices compute in",
)
situation(
    "normalisation_as_one_op",
    main(
        f"""%s = stablehlo.constant dense<1.0> : tensor<8xf32>
        %0:3 = "stablehlo.batch_norm_training"(%a, %s, %s) <{{epsilon = 0.001 : f32, feature_index = 1 : i64}}>
          : ({T}, tensor<8xf32>, tensor<8xf32>) -> ({T}, tensor<8xf32>, tensor<8xf32>)
        return %0#0 : {T}"""
    ),
)
