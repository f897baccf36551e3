// Collectives that follow each other. The last run lines run the functions,
// which are one program in @main, before and after: the values are the same.
//
// RUN: shoal-opt %s --shoal-simplify-collectives | FileCheck %s
// RUN: rm -rf %t && mkdir %t
// RUN: shoal-opt %s --inline -o %t/before.mlir
// RUN: shoal-opt %s --inline --shoal-simplify-collectives -o %t/after.mlir
// RUN: shoal-run %t/before.mlir --entry=main --devices=4 --random-inputs=1 --output-dir %t/before
// RUN: shoal-run %t/after.mlir --entry=main --devices=4 --random-inputs=1 --output-dir %t/after
// RUN: diff -r %t/before %t/after

shoal.mesh @mesh = <["x" = 2, "y" = 2]>
shoal.mesh @other = <["x" = 2, "y" = 2], device_ids = [0, 2, 1, 3]>

#x_ = #shoal.sharding<@mesh, [{"x"}, {}]>
#xy = #shoal.sharding<@mesh, [{"x"}, {"y"}]>
#yx = #shoal.sharding<@mesh, [{"y"}, {"x"}]>
#xy_ = #shoal.sharding<@mesh, [{"x", "y"}, {}]>
#_x = #shoal.sharding<@mesh, [{}, {"x"}]>
#_y = #shoal.sharding<@mesh, [{}, {"y"}]>
#__ = #shoal.sharding<@mesh, [{}, {}]>

// CHECK-LABEL: @gather_and_slice_back
// CHECK-NEXT: return %arg0
func.func private @gather_and_slice_back(%a: tensor<4x6xi32>) -> tensor<4x6xi32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %a : tensor<4x6xi32> -> tensor<7x6xi32>
  %1 = spmd.all_slice @mesh [{"x"}, {}] %0 : tensor<7x6xi32> -> tensor<4x6xi32>
  return %1 : tensor<4x6xi32>
}

// y stays in place; x alone moves.
// CHECK-LABEL: @gather_more_than_is_sliced
// CHECK-NEXT: %[[G:.*]] = spmd.all_gather @mesh [{"y"}, {}] %arg0 : tensor<2x6xi32> -> tensor<4x6xi32>
// CHECK-NEXT: return %[[G]]
func.func private @gather_more_than_is_sliced(%a: tensor<2x6xi32>) -> tensor<4x6xi32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x", "y"}, {}] %a : tensor<2x6xi32> -> tensor<8x6xi32>
  %1 = spmd.all_slice @mesh [{"x"}, {}] %0 : tensor<8x6xi32> -> tensor<4x6xi32>
  return %1 : tensor<4x6xi32>
}

// 7 rows: two blocks of 4, but four of 2, the last of 1. 5 rows: two of 3, but
// four of 2: blocks of 3 are not made of those.
// CHECK-LABEL: @blocks_that_do_not_nest_stay
// CHECK-NEXT: spmd.all_gather @mesh [{"x", "y"}, {}] %arg0
// CHECK-NEXT: spmd.all_slice @mesh [{"x"}, {}]
func.func private @blocks_that_do_not_nest_stay(%a: tensor<2x6xi32>) -> tensor<3x6xi32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x", "y"}, {}] %a : tensor<2x6xi32> -> tensor<5x6xi32>
  %1 = spmd.all_slice @mesh [{"x"}, {}] %0 : tensor<5x6xi32> -> tensor<3x6xi32>
  return %1 : tensor<3x6xi32>
}

// Where dimension 1 is gathered from y it is no dimension to be cut for x.
// CHECK-LABEL: @gather_and_slice_through_a_dimension
// CHECK-NEXT: spmd.all_gather @mesh [{"x"}, {"y"}] %arg0
// CHECK-NEXT: spmd.all_slice @mesh [{"y"}, {"x"}]
func.func private @gather_and_slice_through_a_dimension(%a: tensor<4x3xi32>) -> tensor<4x3xi32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {"y"}] %a : tensor<4x3xi32> -> tensor<7x6xi32>
  %1 = spmd.all_slice @mesh [{"y"}, {"x"}] %0 : tensor<7x6xi32> -> tensor<4x3xi32>
  return %1 : tensor<4x3xi32>
}

// CHECK-LABEL: @gather_and_slice_elsewhere
// CHECK-NEXT: %[[E:.*]] = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %arg0 : tensor<4x6xi32> -> tensor<7x3xi32>
// CHECK-NEXT: return %[[E]]
func.func private @gather_and_slice_elsewhere(%a: tensor<4x6xi32>) -> tensor<7x3xi32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %a : tensor<4x6xi32> -> tensor<7x6xi32>
  %1 = spmd.all_slice @mesh [{}, {"x"}] %0 : tensor<7x6xi32> -> tensor<7x3xi32>
  return %1 : tensor<7x3xi32>
}

// The whole tensor is there for another user: slicing it is free.
// CHECK-LABEL: @gather_that_others_need
// CHECK-NEXT: %[[G:.*]] = spmd.all_gather
// CHECK-NEXT: %[[S:.*]] = spmd.all_slice @mesh [{}, {"x"}] %[[G]]
// CHECK-NEXT: return %[[G]], %[[S]]
func.func private @gather_that_others_need(%a: tensor<4x6xi32>) -> (tensor<8x6xi32>, tensor<8x3xi32>) attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %a : tensor<4x6xi32> -> tensor<8x6xi32>
  %1 = spmd.all_slice @mesh [{}, {"x"}] %0 : tensor<8x6xi32> -> tensor<8x3xi32>
  return %0, %1 : tensor<8x6xi32>, tensor<8x3xi32>
}

// CHECK-LABEL: @sum_and_slice
// CHECK-NEXT: %[[S:.*]] = spmd.reduce_scatter sum @mesh [{"x"}, {}] %arg0 : tensor<7x6xi32> -> tensor<4x6xi32>
// CHECK-NEXT: %[[R:.*]] = spmd.all_reduce sum @mesh {"y"} %[[S]] : tensor<4x6xi32>
// CHECK-NEXT: return %[[R]]
func.func private @sum_and_slice(%a: tensor<7x6xi32>) -> tensor<4x6xi32> attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x", "y"} %a : tensor<7x6xi32>
  %1 = spmd.all_slice @mesh [{"x"}, {}] %0 : tensor<7x6xi32> -> tensor<4x6xi32>
  return %1 : tensor<4x6xi32>
}

// Three blocks of four would be padding: a reduce_scatter sends 18 elements, the
// all_reduce 9.
// CHECK-LABEL: @sum_and_slice_one_row
// CHECK-NEXT: spmd.all_reduce
// CHECK-NEXT: spmd.all_slice
func.func private @sum_and_slice_one_row(%a: tensor<1x6xi32>) -> tensor<1x6xi32> attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x", "y"} %a : tensor<1x6xi32>
  %1 = spmd.all_slice @mesh [{"x", "y"}, {}] %0 : tensor<1x6xi32> -> tensor<1x6xi32>
  return %1 : tensor<1x6xi32>
}

// CHECK-LABEL: @sum_and_slice_over_other_axes
// CHECK-NEXT: %[[S:.*]] = spmd.all_slice @mesh [{}, {"y"}] %arg0
// CHECK-NEXT: %[[R:.*]] = spmd.reduce_scatter max @mesh [{"x"}, {}] %[[S]] : tensor<7x3xi32> -> tensor<4x3xi32>
// CHECK-NEXT: return %[[R]]
func.func private @sum_and_slice_over_other_axes(%a: tensor<7x6xi32>) -> tensor<4x3xi32> attributes {shoal.spmd} {
  %0 = spmd.all_reduce max @mesh {"x"} %a : tensor<7x6xi32>
  %1 = spmd.all_slice @mesh [{"x"}, {"y"}] %0 : tensor<7x6xi32> -> tensor<4x3xi32>
  return %1 : tensor<4x3xi32>
}

// CHECK-LABEL: @sums_over_both_axes
// CHECK-NEXT: spmd.all_reduce sum @mesh {"y", "x"} %arg0
// CHECK-NEXT: return
func.func private @sums_over_both_axes(%a: tensor<7x6xi32>) -> tensor<7x6xi32> attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x"} %a : tensor<7x6xi32>
  %1 = spmd.all_reduce sum @mesh {"y"} %0 : tensor<7x6xi32>
  return %1 : tensor<7x6xi32>
}

// CHECK-LABEL: @sum_twice_over_one_axis_stays
// CHECK-NEXT: spmd.all_reduce
// CHECK-NEXT: spmd.all_reduce
func.func private @sum_twice_over_one_axis_stays(%a: tensor<7x6xi32>) -> tensor<7x6xi32> attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x"} %a : tensor<7x6xi32>
  %1 = spmd.all_reduce sum @mesh {"x", "y"} %0 : tensor<7x6xi32>
  return %1 : tensor<7x6xi32>
}

// CHECK-LABEL: @there_and_back
// CHECK-NEXT: return %arg0
func.func private @there_and_back(%a: tensor<4x6xi32>) -> tensor<4x6xi32> attributes {shoal.spmd} {
  %0 = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %a : tensor<4x6xi32> -> tensor<7x3xi32>
  %1 = spmd.all_to_all @mesh [{"x"} : 1 -> 0] %0 : tensor<7x3xi32> -> tensor<4x6xi32>
  return %1 : tensor<4x6xi32>
}

// CHECK-LABEL: @exchange_and_gather
// CHECK-NEXT: spmd.all_gather @mesh [{"x"}, {}] %arg0 : tensor<4x6xi32> -> tensor<7x6xi32>
// CHECK-NEXT: return
func.func private @exchange_and_gather(%a: tensor<4x6xi32>) -> tensor<7x6xi32> attributes {shoal.spmd} {
  %0 = spmd.all_to_all @mesh [{"x"} : 0 -> 1] %a : tensor<4x6xi32> -> tensor<7x3xi32>
  %1 = spmd.all_gather @mesh [{}, {"x"}] %0 : tensor<7x3xi32> -> tensor<7x6xi32>
  return %1 : tensor<7x6xi32>
}

// CHECK-LABEL: @permutes_chain
// CHECK-NEXT: spmd.collective_permute @mesh {"x", "y"} -> @other {"x", "y"} %arg0
// CHECK-NEXT: return
func.func private @permutes_chain(%a: tensor<4x6xi32>) -> tensor<4x6xi32> attributes {shoal.spmd} {
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} %a : tensor<4x6xi32>
  %1 = spmd.collective_permute @mesh {"y", "x"} -> @other {"x", "y"} %0 : tensor<4x6xi32>
  return %1 : tensor<4x6xi32>
}

// CHECK-LABEL: @permutes_there_and_back
// CHECK-NEXT: return %arg0
func.func private @permutes_there_and_back(%a: tensor<4x6xi32>) -> tensor<4x6xi32> attributes {shoal.spmd} {
  %0 = spmd.collective_permute @mesh {"x", "y"} -> @mesh {"y", "x"} %a : tensor<4x6xi32>
  %1 = spmd.collective_permute @mesh {"y", "x"} -> @mesh {"x", "y"} %0 : tensor<4x6xi32>
  return %1 : tensor<4x6xi32>
}

// CHECK-LABEL: @gathers_of_both_dimensions
// CHECK-NEXT: spmd.all_gather @mesh [{"x"}, {"y"}] %arg0 : tensor<4x6xi32> -> tensor<7x11xi32>
// CHECK-NEXT: return
func.func private @gathers_of_both_dimensions(%a: tensor<4x6xi32>) -> tensor<7x11xi32> attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %a : tensor<4x6xi32> -> tensor<7x6xi32>
  %1 = spmd.all_gather @mesh [{}, {"y"}] %0 : tensor<7x6xi32> -> tensor<7x11xi32>
  return %1 : tensor<7x11xi32>
}

// Over x alone the second one sends what the first one brought together.
// CHECK-LABEL: @gathers_share_what_they_have_in_common
// CHECK-NEXT: %[[Y:.*]] = spmd.all_gather @mesh [{"y"}, {}] %arg0 : tensor<2x6xi32> -> tensor<4x6xi32>
// CHECK-NEXT: %[[XY:.*]] = spmd.all_gather @mesh [{"x"}, {}] %[[Y]] : tensor<4x6xi32> -> tensor<8x6xi32>
// CHECK-NEXT: return %[[Y]], %[[XY]]
func.func private @gathers_share_what_they_have_in_common(%a: tensor<2x6xi32>) -> (tensor<4x6xi32>, tensor<8x6xi32>) attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"y"}, {}] %a : tensor<2x6xi32> -> tensor<4x6xi32>
  %1 = spmd.all_gather @mesh [{"x", "y"}, {}] %a : tensor<2x6xi32> -> tensor<8x6xi32>
  return %0, %1 : tensor<4x6xi32>, tensor<8x6xi32>
}

// What drops a row is no part of what has it.
// CHECK-LABEL: @a_gather_of_fewer_rows_is_not_shared
// CHECK-NEXT: spmd.all_gather @mesh [{"y"}, {}] %arg0 : tensor<2x6xi32> -> tensor<3x6xi32>
// CHECK-NEXT: spmd.all_gather @mesh [{"x", "y"}, {}] %arg0 : tensor<2x6xi32> -> tensor<8x6xi32>
// CHECK-NEXT: return
func.func private @a_gather_of_fewer_rows_is_not_shared(%a: tensor<2x6xi32>) -> (tensor<3x6xi32>, tensor<8x6xi32>) attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"y"}, {}] %a : tensor<2x6xi32> -> tensor<3x6xi32>
  %1 = spmd.all_gather @mesh [{"x", "y"}, {}] %a : tensor<2x6xi32> -> tensor<8x6xi32>
  return %0, %1 : tensor<3x6xi32>, tensor<8x6xi32>
}

// CHECK-LABEL: @slice_and_gather_of_what_all_hold
// CHECK-NEXT: %[[S:.*]] = spmd.all_slice @mesh [{"x"}, {}] %arg0 : tensor<8x6xi32> -> tensor<4x6xi32>
// CHECK-NEXT: return %arg0, %[[S]]
func.func private @slice_and_gather_of_what_all_hold(%a: tensor<8x6xi32> {shoal.sharding = #__}) -> (tensor<8x6xi32>, tensor<4x6xi32>) attributes {shoal.spmd} {
  %0 = spmd.all_slice @mesh [{"x"}, {}] %a : tensor<8x6xi32> -> tensor<4x6xi32>
  %1 = spmd.all_gather @mesh [{"x"}, {}] %0 : tensor<4x6xi32> -> tensor<8x6xi32>
  %2 = spmd.all_slice @mesh [{"x", "y"}, {}] %a : tensor<8x6xi32> -> tensor<2x6xi32>
  %3 = spmd.all_gather @mesh [{"y"}, {}] %2 : tensor<2x6xi32> -> tensor<4x6xi32>
  return %1, %3 : tensor<8x6xi32>, tensor<4x6xi32>
}

// Here every device may hold something else; the pair takes a part of each.
// CHECK-LABEL: @slice_and_gather_of_what_differs_stays
// CHECK-NEXT: spmd.all_slice
// CHECK-NEXT: spmd.all_gather
func.func private @slice_and_gather_of_what_differs_stays(%a: tensor<8x6xi32> {shoal.sharding = #x_}) -> tensor<8x6xi32> attributes {shoal.spmd} {
  %0 = spmd.all_slice @mesh [{"x"}, {}] %a : tensor<8x6xi32> -> tensor<4x6xi32>
  %1 = spmd.all_gather @mesh [{"x"}, {}] %0 : tensor<4x6xi32> -> tensor<8x6xi32>
  return %1 : tensor<8x6xi32>
}

func.func @main(%rows: tensor<4x6xi32> {shoal.name = "rows", shoal.sharding = #x_, shoal.global_type = tensor<7x6xi32>},
                %even: tensor<4x6xi32> {shoal.name = "even", shoal.sharding = #x_, shoal.global_type = tensor<8x6xi32>},
                %quarter: tensor<2x6xi32> {shoal.name = "quarter", shoal.sharding = #xy_, shoal.global_type = tensor<8x6xi32>},
                %short: tensor<2x6xi32> {shoal.name = "short", shoal.sharding = #xy_, shoal.global_type = tensor<5x6xi32>},
                %tile: tensor<4x6xi32> {shoal.name = "tile", shoal.sharding = #xy, shoal.global_type = tensor<7x11xi32>},
                %tile8: tensor<4x6xi32> {shoal.name = "tile8", shoal.sharding = #xy, shoal.global_type = tensor<8x12xi32>},
                %whole: tensor<8x6xi32> {shoal.name = "whole", shoal.sharding = #__, shoal.global_type = tensor<8x6xi32>},
                %tall: tensor<8x6xi32> {shoal.name = "tall", shoal.sharding = #x_, shoal.global_type = tensor<16x6xi32>},
                %addend: tensor<7x6xi32> {shoal.name = "addend", shoal.sharding = #xy_, shoal.global_type = tensor<28x6xi32>})
    -> (tensor<4x6xi32> {shoal.sharding = #x_, shoal.global_type = tensor<7x6xi32>},
        tensor<4x6xi32> {shoal.sharding = #x_, shoal.global_type = tensor<8x6xi32>},
        tensor<3x6xi32> {shoal.sharding = #x_, shoal.global_type = tensor<5x6xi32>},
        tensor<7x3xi32> {shoal.sharding = #_x, shoal.global_type = tensor<7x6xi32>},
        tensor<8x6xi32> {shoal.sharding = #__, shoal.global_type = tensor<8x6xi32>},
        tensor<8x3xi32> {shoal.sharding = #_x, shoal.global_type = tensor<8x6xi32>},
        tensor<4x6xi32> {shoal.sharding = #x_, shoal.global_type = tensor<7x6xi32>},
        tensor<4x3xi32> {shoal.sharding = #xy, shoal.global_type = tensor<7x6xi32>},
        tensor<7x6xi32> {shoal.sharding = #__, shoal.global_type = tensor<7x6xi32>},
        tensor<7x6xi32> {shoal.sharding = #__, shoal.global_type = tensor<7x6xi32>},
        tensor<4x6xi32> {shoal.sharding = #x_, shoal.global_type = tensor<7x6xi32>},
        tensor<7x6xi32> {shoal.sharding = #__, shoal.global_type = tensor<7x6xi32>},
        tensor<4x6xi32> {shoal.sharding = #shoal.sharding<@other, [{"x"}, {"y"}]>, shoal.global_type = tensor<8x12xi32>},
        tensor<4x6xi32> {shoal.sharding = #xy, shoal.global_type = tensor<8x12xi32>},
        tensor<7x11xi32> {shoal.sharding = #__, shoal.global_type = tensor<7x11xi32>},
        tensor<4x6xi32> {shoal.sharding = #x_, shoal.global_type = tensor<8x6xi32>},
        tensor<8x6xi32> {shoal.sharding = #__, shoal.global_type = tensor<8x6xi32>},
        tensor<8x6xi32> {shoal.sharding = #__, shoal.global_type = tensor<8x6xi32>},
        tensor<4x6xi32> {shoal.sharding = #x_, shoal.global_type = tensor<8x6xi32>},
        tensor<8x6xi32> {shoal.sharding = #__, shoal.global_type = tensor<8x6xi32>})
    attributes {shoal.spmd} {
  %0 = call @gather_and_slice_back(%rows) : (tensor<4x6xi32>) -> tensor<4x6xi32>
  %1 = call @gather_more_than_is_sliced(%quarter) : (tensor<2x6xi32>) -> tensor<4x6xi32>
  %2 = call @blocks_that_do_not_nest_stay(%short) : (tensor<2x6xi32>) -> tensor<3x6xi32>
  %3 = call @gather_and_slice_elsewhere(%rows) : (tensor<4x6xi32>) -> tensor<7x3xi32>
  %4:2 = call @gather_that_others_need(%even) : (tensor<4x6xi32>) -> (tensor<8x6xi32>, tensor<8x3xi32>)
  %6 = call @sum_and_slice(%addend) : (tensor<7x6xi32>) -> tensor<4x6xi32>
  %7 = call @sum_and_slice_over_other_axes(%addend) : (tensor<7x6xi32>) -> tensor<4x3xi32>
  %y = spmd.all_reduce max @mesh {"y"} %7 : tensor<4x3xi32>
  %8 = call @sums_over_both_axes(%addend) : (tensor<7x6xi32>) -> tensor<7x6xi32>
  %9 = call @sum_twice_over_one_axis_stays(%addend) : (tensor<7x6xi32>) -> tensor<7x6xi32>
  %10 = call @there_and_back(%rows) : (tensor<4x6xi32>) -> tensor<4x6xi32>
  %11 = call @exchange_and_gather(%rows) : (tensor<4x6xi32>) -> tensor<7x6xi32>
  %12 = call @permutes_chain(%tile8) : (tensor<4x6xi32>) -> tensor<4x6xi32>
  %13 = call @permutes_there_and_back(%tile8) : (tensor<4x6xi32>) -> tensor<4x6xi32>
  %14 = call @gathers_of_both_dimensions(%tile) : (tensor<4x6xi32>) -> tensor<7x11xi32>
  %15:2 = call @gathers_share_what_they_have_in_common(%quarter) : (tensor<2x6xi32>) -> (tensor<4x6xi32>, tensor<8x6xi32>)
  %17:2 = call @slice_and_gather_of_what_all_hold(%whole) : (tensor<8x6xi32>) -> (tensor<8x6xi32>, tensor<4x6xi32>)
  %19 = call @slice_and_gather_of_what_differs_stays(%tall) : (tensor<8x6xi32>) -> tensor<8x6xi32>
  return %0, %1, %2, %3, %4#0, %4#1, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15#0, %15#1, %17#0, %17#1, %19
      : tensor<4x6xi32>, tensor<4x6xi32>, tensor<3x6xi32>, tensor<7x3xi32>, tensor<8x6xi32>, tensor<8x3xi32>, tensor<4x6xi32>, tensor<4x3xi32>,
        tensor<7x6xi32>, tensor<7x6xi32>, tensor<4x6xi32>, tensor<7x6xi32>, tensor<4x6xi32>, tensor<4x6xi32>, tensor<7x11xi32>,
        tensor<4x6xi32>, tensor<8x6xi32>, tensor<8x6xi32>, tensor<4x6xi32>, tensor<8x6xi32>
}
