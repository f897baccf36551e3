// A product whose operand is a mask that is padded and turned around is made in
// parts. What the whole mask was made of is gone then, also where one op has it
// twice: it was erased twice.
//
// REQUIRES: mpi, shoalc
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/program
// RUN: %mpirun -n 4 %t/program --random-inputs=1 --output-dir %t/compiled --check-memory
// RUN: shoal-run %s --random-inputs=1 --output-dir %t/interpreted
// RUN: %python -c "import numpy as np; np.testing.assert_allclose(np.load('%t/compiled/result0.npy'), np.load('%t/interpreted/result0.npy'), rtol=1e-5, atol=1e-4)"

module {
  shoal.mesh @mesh = <["x" = 4]>
  func.func @main(%arg0: tensor<64x64xf32>, %arg1: tensor<64xf32>, %arg2: tensor<64xf32>) -> tensor<2xf32> {
    %0 = shoal.iota dim = 0 : tensor<64xi32>
    %1 = shoal.iota dim = 1 : tensor<64x64xi32>
    %2 = shoal.broadcast_in_dim %0 dims = [0] : tensor<64xi32> -> tensor<64x64xi32>
    %3 = arith.cmpi eq, %1, %2 : tensor<64x64xi32>
    %4 = arith.uitofp %3 : tensor<64x64xi1> to tensor<64x64xf32>
    %5 = shoal.iota dim = 0 : tensor<64xi32>
    %6 = shoal.iota dim = 1 : tensor<64x2xi32>
    %7 = shoal.broadcast_in_dim %5 dims = [0] : tensor<64xi32> -> tensor<64x2xi32>
    %8 = arith.cmpi eq, %6, %7 : tensor<64x2xi32>
    %9 = arith.uitofp %8 : tensor<64x2xi1> to tensor<64x2xf32>
    %10 = shoal.broadcast_in_dim %4 dims = [0, 1] : tensor<64x64xf32> -> tensor<64x64x2xf32>
    %11 = shoal.broadcast_in_dim %9 dims = [0, 2] : tensor<64x2xf32> -> tensor<64x64x2xf32>
    %12 = arith.mulf %10, %11 : tensor<64x64x2xf32>
    %values, %indices = shoal.top_k %arg0 {k = 1 : i64} : tensor<64x64xf32> -> tensor<64x1xf32>, tensor<64x1xi32>
    %13 = shoal.slice %indices starts = [0, 0] limits = [64, 1] strides = [1, 1] : tensor<64x1xi32> -> tensor<64x1xi32>
    %14 = shoal.reshape %13 : tensor<64x1xi32> -> tensor<64xi32>
    %15 = shoal.iota dim = 1 : tensor<64x64xi32>
    %16 = shoal.broadcast_in_dim %14 dims = [0] : tensor<64xi32> -> tensor<64x64xi32>
    %17 = arith.cmpi eq, %15, %16 : tensor<64x64xi32>
    %cst = arith.constant dense<-1> : tensor<64x64xi32>
    %18 = shoal.iota dim = 1 : tensor<64x64xi32>
    %19 = arith.select %17, %18, %cst : tensor<64x64xi1>, tensor<64x64xi32>
    %20 = shoal.iota dim = 2 : tensor<64x64x2xi32>
    %21 = shoal.broadcast_in_dim %19 dims = [0, 1] : tensor<64x64xi32> -> tensor<64x64x2xi32>
    %22 = arith.cmpi eq, %20, %21 : tensor<64x64x2xi32>
    %23 = arith.uitofp %22 : tensor<64x64x2xi1> to tensor<64x64x2xf32>
    %24 = shoal.broadcast_in_dim %arg1 dims = [0] : tensor<64xf32> -> tensor<64x64x2xf32>
    %25 = arith.mulf %23, %24 : tensor<64x64x2xf32>
    %26 = arith.addf %12, %25 : tensor<64x64x2xf32>
    %cst_0 = arith.constant dense<0.000000e+00> : tensor<64x64x2xf32>
    %27 = arith.cmpf ogt, %26, %cst_0 : tensor<64x64x2xf32>
    %28 = arith.uitofp %27 : tensor<64x64x2xi1> to tensor<64x64x2xf32>
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<f32>
    %29 = shoal.pad %28, %cst_1 low = [0, 0, 0] high = [1, 0, 0] interior = [0, 0, 0] : tensor<64x64x2xf32>, tensor<f32> -> tensor<65x64x2xf32>
    %30 = shoal.reverse %29 dims = [0] : tensor<65x64x2xf32>
    %31 = shoal.einsum "aec,e->c" %30, %arg2 : (tensor<65x64x2xf32>, tensor<64xf32>) -> tensor<2xf32>
    return %31 : tensor<2xf32>
  }
}
