// Kernels that read through indices, and short reductions in one kernel, on the
// emulated device against the interpreter: indices that repeat and that lie
// outside, components and batch dimensions, rows of even and odd lengths,
// elements of all sizes.
//
// REQUIRES: mpi, cuda-emulation
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f --target=cuda --cuda-arch=emulated
// RUN: shoal-run %s --random-inputs=1 --output-dir %t/expected
// RUN: env SHOAL_EMULATION_ISOLATE=1 %mpirun -n 1 %t/f --random-inputs=1 --output-dir %t/isolated
// RUN: diff -r %t/isolated %t/expected
// RUN: env SHOAL_EMULATION_ORDER=backward %mpirun -n 1 %t/f --random-inputs=1 --output-dir %t/backward
// RUN: diff -r %t/backward %t/expected
// RUN: shoal-opt %s --shoal-lower-to-cuda | FileCheck %s

// Of a length that nothing else says, read across, read by a call.
// CHECK-COUNT-3: rt.gather
// CHECK-NOT: rt.gather
// CHECK: gpu.module
func.func @f(%x: tensor<24x64xi32>, %odd: tensor<5x3x7xi32>, %seeds: tensor<20xi32>, %pairs: tensor<2x10xi32>,
             %places: tensor<5x4x2xi8>, %at: tensor<i32>)
    -> (tensor<10x64xbf16>, tensor<10x64xf16>, tensor<5x64xi64>, tensor<4x64xi8>, tensor<1x64xf64>, tensor<20x64xi1>,
        tensor<10x64xi1>, tensor<20x64xf32>, tensor<20xi32>, tensor<i32>, tensor<10x7xi32>, tensor<5x4xi32>,
        tensor<5x4xi32>, tensor<5x2x7xi32>, tensor<7x9xi32>, tensor<20x64xi32>, tensor<64x20xi32>, tensor<64xi32>,
        tensor<20x64xi32>, tensor<64xi32>, tensor<20x64xi32>) {
  %fifty = arith.constant dense<50> : tensor<20xi32>
  %rows = arith.remsi %seeds, %fifty : tensor<20xi32>
  %nine = arith.constant dense<9> : tensor<24x64xi32>
  %small = arith.remsi %x, %nine : tensor<24x64xi32>

  // Weighted pairs of rows, as in a layer of experts; all vectors of 16 bytes.
  %weights = shoal.reshape %rows : tensor<20xi32> -> tensor<10x2xi32>
  %weight = arith.sitofp %weights : tensor<10x2xi32> to tensor<10x2xf32>
  %b = arith.sitofp %small : tensor<24x64xi32> to tensor<24x64xbf16>
  %g1 = shoal.gather %b, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xbf16>, tensor<20xi32>) -> tensor<20x64xbf16>
  %b1 = shoal.reshape %g1 : tensor<20x64xbf16> -> tensor<10x2x64xbf16>
  %b2 = arith.extf %b1 : tensor<10x2x64xbf16> to tensor<10x2x64xf32>
  %b3 = shoal.broadcast_in_dim %weight dims = [0, 1] : tensor<10x2xf32> -> tensor<10x2x64xf32>
  %b4 = arith.mulf %b2, %b3 : tensor<10x2x64xf32>
  %b5 = shoal.reduce sum %b4 dims = [1] : tensor<10x2x64xf32> -> tensor<10x64xf32>
  %bf16 = arith.truncf %b5 : tensor<10x64xf32> to tensor<10x64xbf16>

  // Other reductions and types.
  %max0 = arith.sitofp %small : tensor<24x64xi32> to tensor<24x64xf16>
  %g2 = shoal.gather %max0, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xf16>, tensor<20xi32>) -> tensor<20x64xf16>
  %max1 = shoal.reshape %g2 : tensor<20x64xf16> -> tensor<10x2x64xf16>
  %max = shoal.reduce max %max1 dims = [1] : tensor<10x2x64xf16> -> tensor<10x64xf16>
  %prod0 = arith.extsi %small : tensor<24x64xi32> to tensor<24x64xi64>
  %g3 = shoal.gather %prod0, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xi64>, tensor<20xi32>) -> tensor<20x64xi64>
  %prod1 = shoal.reshape %g3 : tensor<20x64xi64> -> tensor<5x4x64xi64>
  %prod = shoal.reduce prod %prod1 dims = [1] : tensor<5x4x64xi64> -> tensor<5x64xi64>
  %min0 = arith.trunci %small : tensor<24x64xi32> to tensor<24x64xi8>
  %g4 = shoal.gather %min0, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xi8>, tensor<20xi32>) -> tensor<20x64xi8>
  %min1 = shoal.reshape %g4 : tensor<20x64xi8> -> tensor<4x5x64xi8>
  %min = shoal.reduce min %min1 dims = [1] : tensor<4x5x64xi8> -> tensor<4x64xi8>
  %sum0 = arith.sitofp %small : tensor<24x64xi32> to tensor<24x64xf64>
  %g5 = shoal.gather %sum0, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xf64>, tensor<20xi32>) -> tensor<20x64xf64>
  %sum1 = shoal.reshape %g5 : tensor<20x64xf64> -> tensor<1x20x64xf64>
  %sum = shoal.reduce sum %sum1 dims = [1] : tensor<1x20x64xf64> -> tensor<1x64xf64>

  // Bools and f8, one by one and combined; a warp for a row; a sum whose length nothing else says.
  %zero = arith.constant dense<0> : tensor<24x64xi32>
  %t = arith.cmpi sgt, %x, %zero : tensor<24x64xi32>
  %g6 = shoal.gather %t, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xi1>, tensor<20xi32>) -> tensor<20x64xi1>
  %true = arith.constant dense<true> : tensor<20x64xi1>
  %not = arith.xori %g6, %true : tensor<20x64xi1>
  %u = arith.cmpi sgt, %x, %nine : tensor<24x64xi32>
  %g7 = shoal.gather %u, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xi1>, tensor<20xi32>) -> tensor<20x64xi1>
  %t1 = shoal.reshape %g7 : tensor<20x64xi1> -> tensor<10x2x64xi1>
  %both = shoal.reduce and %t1 dims = [1] : tensor<10x2x64xi1> -> tensor<10x64xi1>
  %e = arith.sitofp %small : tensor<24x64xi32> to tensor<24x64xf32>
  %e0 = arith.truncf %e : tensor<24x64xf32> to tensor<24x64xf8E4M3FN>
  %g8 = shoal.gather %e0, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xf8E4M3FN>, tensor<20xi32>) -> tensor<20x64xf8E4M3FN>
  %f8 = arith.extf %g8 : tensor<20x64xf8E4M3FN> to tensor<20x64xf32>
  %factors = shoal.slice %x starts = [3, 0] limits = [4, 64] strides = [1, 1] : tensor<24x64xi32> -> tensor<1x64xi32>
  %factor = shoal.broadcast_in_dim %factors dims = [0, 1] : tensor<1x64xi32> -> tensor<20x64xi32>
  %near = arith.subi %x, %small : tensor<24x64xi32>
  %g9 = shoal.gather %near, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xi32>, tensor<20xi32>) -> tensor<20x64xi32>
  %line0 = arith.muli %g9, %factor : tensor<20x64xi32>
  %line = shoal.reduce sum %line0 dims = [1] : tensor<20x64xi32> -> tensor<20xi32>
  %far = arith.addi %x, %small : tensor<24x64xi32>
  %g10 = shoal.gather %far, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xi32>, tensor<20xi32>) -> tensor<20x64xi32>
  %all = shoal.reduce sum %g10 dims = [0, 1] : tensor<20x64xi32> -> tensor<i32>

  // Components in the first dimension of the indices, in another order; rows of seven.
  %o0 = shoal.gather %odd, %pairs offset_dims = [1] collapsed_slice_dims = [0, 1] start_index_map = [1, 0]
      index_vector_dim = 0 slice_sizes = [1, 1, 7] : (tensor<5x3x7xi32>, tensor<2x10xi32>) -> tensor<10x7xi32>
  %components = arith.addi %o0, %o0 : tensor<10x7xi32>

  // Single elements, a batch dimension in front of both; indices of eight bytes and of one.
  %wide = arith.extsi %places : tensor<5x4x2xi8> to tensor<5x4x2xi64>
  %wide0 = shoal.gather %odd, %wide offset_dims = [] collapsed_slice_dims = [1, 2] operand_batching_dims = [0]
      start_indices_batching_dims = [0] start_index_map = [2, 1] index_vector_dim = 2 slice_sizes = [1, 1, 1]
      : (tensor<5x3x7xi32>, tensor<5x4x2xi64>) -> tensor<5x4xi32>
  %wide1 = arith.addi %wide0, %wide0 : tensor<5x4xi32>
  %places0 = shoal.gather %odd, %places offset_dims = [] collapsed_slice_dims = [1, 2] operand_batching_dims = [0]
      start_indices_batching_dims = [0] start_index_map = [2, 1] index_vector_dim = 2 slice_sizes = [1, 1, 1]
      : (tensor<5x3x7xi32>, tensor<5x4x2xi8>) -> tensor<5x4xi32>
  %places1 = arith.addi %places0, %places0 : tensor<5x4xi32>

  // Windows of two rows, summed; a window at a place that the program computes.
  %five = shoal.slice %rows starts = [0] limits = [5] strides = [1] : tensor<20xi32> -> tensor<5xi32>
  %w0 = shoal.gather %odd, %five offset_dims = [1, 2] collapsed_slice_dims = [] operand_batching_dims = [0]
      start_indices_batching_dims = [0] start_index_map = [1] index_vector_dim = 1 slice_sizes = [1, 2, 7]
      : (tensor<5x3x7xi32>, tensor<5xi32>) -> tensor<5x2x7xi32>
  %windows = arith.addi %w0, %w0 : tensor<5x2x7xi32>
  %s0 = shoal.dynamic_slice %x [%at, %at] sizes = [7, 9]
      : (tensor<24x64xi32>, tensor<i32>, tensor<i32>) -> tensor<7x9xi32>
  %slice = arith.addi %s0, %s0 : tensor<7x9xi32>

  // Beside a read in its own order; transposed, where neighbours would not be read by neighbours.
  %first = shoal.slice %x starts = [0, 0] limits = [20, 64] strides = [1, 1] : tensor<24x64xi32> -> tensor<20x64xi32>
  %g11 = shoal.gather %first, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<20x64xi32>, tensor<20xi32>) -> tensor<20x64xi32>
  %residual = arith.addi %first, %g11 : tensor<20x64xi32>
  %g12 = shoal.gather %small, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xi32>, tensor<20xi32>) -> tensor<20x64xi32>
  %across0 = arith.addi %g12, %g12 : tensor<20x64xi32>
  %across = shoal.transpose %across0 permutation = [1, 0] : tensor<20x64xi32> -> tensor<64x20xi32>

  // Two readers, which each read the rows; two of which one is no loop.
  %own = arith.muli %x, %small : tensor<24x64xi32>
  %g13 = shoal.gather %own, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xi32>, tensor<20xi32>) -> tensor<20x64xi32>
  %column = shoal.reduce max %g13 dims = [0] : tensor<20x64xi32> -> tensor<64xi32>
  %double = arith.addi %g13, %g13 : tensor<20x64xi32>
  %g14 = shoal.gather %x, %rows offset_dims = [1] collapsed_slice_dims = [0] start_index_map = [0]
      index_vector_dim = 1 slice_sizes = [1, 64] : (tensor<24x64xi32>, tensor<20xi32>) -> tensor<20x64xi32>
  %once = shoal.reduce max %g14 dims = [0] : tensor<20x64xi32> -> tensor<64xi32>
  %running = shoal.cumulative sum %g14 dim = 0 : tensor<20x64xi32>
  return %bf16, %max, %prod, %min, %sum, %not, %both, %f8, %line, %all, %components, %wide1, %places1, %windows,
      %slice, %residual, %across, %column, %double, %once, %running
      : tensor<10x64xbf16>, tensor<10x64xf16>, tensor<5x64xi64>, tensor<4x64xi8>, tensor<1x64xf64>, tensor<20x64xi1>,
      tensor<10x64xi1>, tensor<20x64xf32>, tensor<20xi32>, tensor<i32>, tensor<10x7xi32>, tensor<5x4xi32>,
      tensor<5x4xi32>, tensor<5x2x7xi32>, tensor<7x9xi32>, tensor<20x64xi32>, tensor<64x20xi32>, tensor<64xi32>,
      tensor<20x64xi32>, tensor<64xi32>, tensor<20x64xi32>
}
