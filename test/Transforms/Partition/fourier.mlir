// What is sent for Fourier transforms. The types say how much.
//
// RUN: shoal-opt %s --shoal-import --shoal-partition | FileCheck %s

shoal.mesh @mesh = <["x" = 4]>

#rows = #shoal.sharding<@mesh, [{"x"}, {}]>
#columns = #shoal.sharding<@mesh, [{}, {"x"}]>

// CHECK-LABEL: func.func @fft_of_batches
func.func @fft_of_batches(%x: tensor<9x40xf32> {shoal.sharding = #rows})
    -> (tensor<9x21xf32> {shoal.sharding = #rows}, tensor<9x21xf32> {shoal.sharding = #rows}) {
  // CHECK-NOT: = spmd.
  // CHECK: shoal.fft {{.*}} dim = 1 : (tensor<3x40xf32>) -> (tensor<3x21xf32>, tensor<3x21xf32>)
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0:2 = shoal.fft %x dim = 1 : (tensor<9x40xf32>) -> (tensor<9x21xf32>, tensor<9x21xf32>)
  return %0#0, %0#1 : tensor<9x21xf32>, tensor<9x21xf32>
}

// Lines move to where they are whole, and back.
// CHECK-LABEL: func.func @fft_of_split_lines
func.func @fft_of_split_lines(%x: tensor<8x40xf32> {shoal.sharding = #columns},
                              %y: tensor<8x40xf32> {shoal.sharding = #columns})
    -> (tensor<8x40xf32> {shoal.sharding = #columns}, tensor<8x40xf32> {shoal.sharding = #columns}) {
  // CHECK-NOT: all_gather
  // CHECK: spmd.all_to_all
  // CHECK: shoal.fft {{.*}} dim = 1 : (tensor<2x40xf32>, tensor<2x40xf32>)
  // CHECK: spmd.all_to_all
  // CHECK-NOT: all_gather
  // CHECK: return
  %0:2 = shoal.fft %x, %y dim = 1 : (tensor<8x40xf32>, tensor<8x40xf32>) -> (tensor<8x40xf32>, tensor<8x40xf32>)
  return %0#0, %0#1 : tensor<8x40xf32>, tensor<8x40xf32>
}

// Of two dimensions one is always whole: no device needs all of the matrix.
// CHECK-LABEL: func.func @fft_of_a_matrix
func.func @fft_of_a_matrix(%x: tensor<8x40xf32> {shoal.sharding = #rows},
                           %y: tensor<8x40xf32> {shoal.sharding = #rows})
    -> (tensor<8x40xf32> {shoal.sharding = #columns}, tensor<8x40xf32> {shoal.sharding = #columns}) {
  // CHECK: shoal.fft {{.*}} dim = 1 : (tensor<2x40xf32>, tensor<2x40xf32>)
  // CHECK: spmd.all_to_all
  // CHECK: shoal.fft {{.*}} dim = 0 : (tensor<8x10xf32>, tensor<8x10xf32>)
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0:2 = shoal.fft %x, %y dim = 1 : (tensor<8x40xf32>, tensor<8x40xf32>) -> (tensor<8x40xf32>, tensor<8x40xf32>)
  %1:2 = shoal.fft %0#0, %0#1 dim = 0 : (tensor<8x40xf32>, tensor<8x40xf32>) -> (tensor<8x40xf32>, tensor<8x40xf32>)
  return %1#0, %1#1 : tensor<8x40xf32>, tensor<8x40xf32>
}

// CHECK-LABEL: func.func @fft_of_one_line
func.func @fft_of_one_line(%x: tensor<40xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) -> (tensor<21xf32>, tensor<21xf32>) {
  // CHECK: spmd.all_gather @mesh [{"x"}] {{.*}} : tensor<10xf32> -> tensor<40xf32>
  // CHECK: shoal.fft {{.*}} dim = 0 : (tensor<40xf32>)
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0:2 = shoal.fft %x dim = 0 : (tensor<40xf32>) -> (tensor<21xf32>, tensor<21xf32>)
  return %0#0, %0#1 : tensor<21xf32>, tensor<21xf32>
}

// Sums of products are transformed before they are added up: the sum alone is sent.
// CHECK-LABEL: func.func @fft_of_sums
func.func @fft_of_sums(%x: tensor<8x40xf32> {shoal.sharding = #columns},
                       %w: tensor<40x16xf32> {shoal.sharding = #rows}) -> (tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}]>}) {
  // CHECK: shoal.einsum
  // CHECK: shoal.fft {{.*}} dim = 1 : (tensor<8x16xf32>)
  // CHECK: spmd.all_reduce sum @mesh {"x"} {{.*}} : tensor<8xf32>
  // CHECK-NOT: = spmd.
  // CHECK: return
  %0 = shoal.einsum "ik,kj->ij" %x, %w : (tensor<8x40xf32>, tensor<40x16xf32>) -> tensor<8x16xf32>
  %1:2 = shoal.fft %0 dim = 1 : (tensor<8x16xf32>) -> (tensor<8x9xf32>, tensor<8x9xf32>)
  %2 = shoal.reduce sum %1#0 dims = [1] : tensor<8x9xf32> -> tensor<8xf32>
  return %2 : tensor<8xf32>
}
