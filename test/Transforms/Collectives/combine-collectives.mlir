// RUN: shoal-opt %s --shoal-combine-collectives=max-bytes=256 | FileCheck %s
// RUN: shoal-opt %s --shoal-combine-collectives=max-bytes=0 | FileCheck %s --check-prefix=NONE
// RUN: rm -rf %t && mkdir %t
// RUN: shoal-opt %s --shoal-combine-collectives=max-bytes=256 -o %t/after.mlir
// RUN: shoal-run %s --entry=values --devices=4 --random-inputs=1 --output-dir %t/before
// RUN: shoal-run %t/after.mlir --entry=values --devices=4 --random-inputs=1 --output-dir %t/after
// RUN: diff -r %t/before %t/after

shoal.mesh @mesh = <["x" = 2, "y" = 2]>

// NONE-NOT: combined

// CHECK-LABEL: @reductions
// CHECK-DAG: %[[A:.*]] = shoal.reshape %arg0 : tensor<f32> -> tensor<1x1xf32>
// CHECK-DAG: %[[B:.*]] = shoal.reshape %arg1 : tensor<3x2xf32> -> tensor<1x6xf32>
// CHECK: %[[P:.*]] = shoal.concatenate %[[A]], %[[B]] dim = 1
// CHECK: %[[R:.*]] = spmd.all_reduce sum @mesh {"x"} %[[P]] {why = "2 combined: a; b"} : tensor<1x7xf32>
// CHECK: %[[S:.*]] = shoal.slice %[[R]] starts = [0, 0] limits = [1, 1]
// CHECK: shoal.reshape %[[S]] : tensor<1x1xf32> -> tensor<f32>
// CHECK: %[[T:.*]] = shoal.slice %[[R]] starts = [0, 1] limits = [1, 7]
// CHECK: shoal.reshape %[[T]] : tensor<1x6xf32> -> tensor<3x2xf32>
// A maximum, another group and another type stay apart.
// CHECK: spmd.all_reduce max @mesh {"x"} %arg0
// CHECK: spmd.all_reduce sum @mesh {"y"} %arg0
// CHECK: spmd.all_reduce sum @mesh {"x"} %arg2
// CHECK-NOT: spmd.
func.func @reductions(%a: tensor<f32>, %b: tensor<3x2xf32>, %c: tensor<2xi32>)
    -> (tensor<f32>, tensor<3x2xf32>, tensor<f32>, tensor<f32>, tensor<2xi32>) attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x"} %a {why = "a"} : tensor<f32>
  %1 = spmd.all_reduce sum @mesh {"x"} %b {why = "b"} : tensor<3x2xf32>
  %2 = spmd.all_reduce max @mesh {"x"} %a : tensor<f32>
  %3 = spmd.all_reduce sum @mesh {"y"} %a : tensor<f32>
  %4 = spmd.all_reduce sum @mesh {"x"} %c : tensor<2xi32>
  return %0, %1, %2, %3, %4 : tensor<f32>, tensor<3x2xf32>, tensor<f32>, tensor<f32>, tensor<2xi32>
}

// The second one waits for the first. What reads the first goes behind.
// CHECK-LABEL: @dependent_ones_stay_apart
// CHECK: %[[R:.*]] = spmd.all_reduce {{.*}}2 combined{{.*}} : tensor<1x4xf32>
// CHECK: %[[E:.*]] = math.exp
// CHECK: spmd.all_reduce sum @mesh {"x"} %[[E]] {why = "c"}
func.func @dependent_ones_stay_apart(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x"} %a {why = "a"} : tensor<2xf32>
  %1 = math.exp %0 : tensor<2xf32>
  %2 = math.exp %a : tensor<2xf32>
  %3 = spmd.all_reduce sum @mesh {"x"} %2 {why = "b"} : tensor<2xf32>
  %4 = spmd.all_reduce sum @mesh {"x"} %1 {why = "c"} : tensor<2xf32>
  return %3, %4 : tensor<2xf32>, tensor<2xf32>
}

// Messages of at most 256 bytes: 40 and 20 floats, then 40; 80 goes alone.
// CHECK-LABEL: @limit
// CHECK: spmd.all_reduce {{.*}} : tensor<1x60xf32>
// CHECK-DAG: spmd.all_reduce {{.*}} : tensor<80xf32>
// CHECK-DAG: spmd.all_reduce {{.*}} : tensor<40xf32>
func.func @limit(%a: tensor<40xf32>, %b: tensor<20xf32>, %c: tensor<80xf32>, %d: tensor<40xf32>)
    -> (tensor<40xf32>, tensor<20xf32>, tensor<80xf32>, tensor<40xf32>) attributes {shoal.spmd} {
  %0 = spmd.all_reduce sum @mesh {"x"} %a : tensor<40xf32>
  %1 = spmd.all_reduce sum @mesh {"x"} %b : tensor<20xf32>
  %2 = spmd.all_reduce sum @mesh {"x"} %c : tensor<80xf32>
  %3 = spmd.all_reduce sum @mesh {"x"} %d : tensor<40xf32>
  return %0, %1, %2, %3 : tensor<40xf32>, tensor<20xf32>, tensor<80xf32>, tensor<40xf32>
}

#x_ = #shoal.sharding<@mesh, [{"x"}, {}]>
#_x = #shoal.sharding<@mesh, [{}, {"x"}]>
#xy = #shoal.sharding<@mesh, [{"x"}, {"y"}]>
#__ = #shoal.sharding<@mesh, [{}, {}]>

// Gathers of several dimensions, also uneven, and scatters; uneven ones of
// these stay alone.
// CHECK-LABEL: @values
// CHECK: spmd.all_gather @mesh [{"x"}, {}] {{.*}}2 combined{{.*}} : tensor<1x32xi32> -> tensor<2x32xi32>
// CHECK: spmd.all_gather @mesh [{"x", "y"}, {}] {{.*}}2 combined{{.*}} : tensor<1x14xi32> -> tensor<4x14xi32>
// CHECK: spmd.reduce_scatter sum @mesh [{"x"}, {}] {{.*}}2 combined{{.*}} : tensor<2x20xi32> -> tensor<1x20xi32>
// CHECK: spmd.reduce_scatter sum @mesh [{"x"}, {"y"}] {{.*}} : tensor<3x3xi32> -> tensor<2x2xi32>
// CHECK-NOT: spmd.
func.func @values(%a: tensor<4x5xi32> {shoal.name = "a", shoal.sharding = #x_, shoal.global_type = tensor<7x5xi32>},
                  %b: tensor<4x3xi32> {shoal.name = "b", shoal.sharding = #_x, shoal.global_type = tensor<4x6xi32>},
                  %c: tensor<2x3xi32> {shoal.name = "c", shoal.sharding = #xy, shoal.global_type = tensor<3x5xi32>},
                  %d: tensor<4x2xi32> {shoal.name = "d", shoal.sharding = #xy, shoal.global_type = tensor<8x4xi32>},
                  %e: tensor<3x3xi32> {shoal.name = "e", shoal.sharding = #xy, shoal.global_type = tensor<6x6xi32>})
    -> (tensor<7x5xi32> {shoal.sharding = #__, shoal.global_type = tensor<7x5xi32>},
        tensor<4x6xi32> {shoal.sharding = #__, shoal.global_type = tensor<4x6xi32>},
        tensor<3x5xi32> {shoal.sharding = #__, shoal.global_type = tensor<3x5xi32>},
        tensor<8x4xi32> {shoal.sharding = #__, shoal.global_type = tensor<8x4xi32>},
        tensor<4x4xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"y"}]>, shoal.global_type = tensor<8x8xi32>},
        tensor<4x1xi32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}, {"x"}]>, shoal.global_type = tensor<8x2xi32>},
        tensor<2x2xi32> {shoal.sharding = #xy, shoal.global_type = tensor<3x3xi32>})
    attributes {shoal.spmd} {
  %0 = spmd.all_gather @mesh [{"x"}, {}] %a : tensor<4x5xi32> -> tensor<7x5xi32>
  %1 = spmd.all_gather @mesh [{}, {"x"}] %b : tensor<4x3xi32> -> tensor<4x6xi32>
  %2 = spmd.all_gather @mesh [{"x"}, {"y"}] %c : tensor<2x3xi32> -> tensor<3x5xi32>
  %3 = spmd.all_gather @mesh [{"x"}, {"y"}] %d : tensor<4x2xi32> -> tensor<8x4xi32>
  %w = shoal.concatenate %d, %d dim = 0 : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<8x2xi32>
  %v = shoal.concatenate %w, %w dim = 1 : (tensor<8x2xi32>, tensor<8x2xi32>) -> tensor<8x4xi32>
  %4 = spmd.reduce_scatter sum @mesh [{"x"}, {}] %v : tensor<8x4xi32> -> tensor<4x4xi32>
  %u = shoal.slice %d starts = [0, 0] limits = [4, 2] strides = [1, 1] : tensor<4x2xi32> -> tensor<4x2xi32>
  %5 = spmd.reduce_scatter sum @mesh [{}, {"x"}] %u : tensor<4x2xi32> -> tensor<4x1xi32>
  %6 = spmd.reduce_scatter sum @mesh [{"x"}, {"y"}] %e : tensor<3x3xi32> -> tensor<2x2xi32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<7x5xi32>, tensor<4x6xi32>, tensor<3x5xi32>, tensor<8x4xi32>, tensor<4x4xi32>, tensor<4x1xi32>, tensor<2x2xi32>
}
