// Kernels of every shape on the emulated device against the interpreter: rows
// of a part of a warp, a warp and a block; columns; transposes whose tiles have
// edges; types of one to eight bytes.
//
// REQUIRES: mpi, cuda-emulation
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/f --target=cuda --cuda-arch=emulated
// RUN: %mpirun -n 1 %t/f --random-inputs=1 --output-dir %t/actual
// RUN: shoal-run %s --random-inputs=1 --output-dir %t/expected
// RUN: diff -r %t/actual %t/expected

func.func @f(%x: tensor<37x1000xi32>, %y: tensor<7x2048xi32>, %z: tensor<70x50xi32>)
    -> (tensor<37xi32>, tensor<7xi32>, tensor<f64>, tensor<1000xi32>, tensor<37xi64>,
        tensor<2048xf32>, tensor<7xbf16>, tensor<50x70xi32>, tensor<50x70xbf16>, tensor<7xi1>,
        tensor<1000xi1>, tensor<70x10xi64>, tensor<70x5xi32>, tensor<5xf64>, tensor<64x8x7x4xi32>,
        tensor<37xf16>) {
  // Small whole numbers, so that all sums are exact in any order.
  %seven = arith.constant dense<7> : tensor<37x1000xi32>
  %five = arith.constant dense<5> : tensor<7x2048xi32>
  %nine = arith.constant dense<9> : tensor<70x50xi32>
  %a = arith.remsi %x, %seven : tensor<37x1000xi32>
  %b = arith.remsi %y, %five : tensor<7x2048xi32>
  %c = arith.remsi %z, %nine : tensor<70x50xi32>
  %rows = shoal.reduce sum %a dims = [1] : tensor<37x1000xi32> -> tensor<37xi32>
  %long = shoal.reduce sum %y dims = [1] : tensor<7x2048xi32> -> tensor<7xi32>
  %d = arith.sitofp %b : tensor<7x2048xi32> to tensor<7x2048xf64>
  %all = shoal.reduce sum %d dims = [0, 1] : tensor<7x2048xf64> -> tensor<f64>
  %columns = shoal.reduce min %x dims = [0] : tensor<37x1000xi32> -> tensor<1000xi32>
  %wide = arith.extsi %a : tensor<37x1000xi32> to tensor<37x1000xi64>
  %wideRows = shoal.reduce sum %wide dims = [1] : tensor<37x1000xi64> -> tensor<37xi64>
  %single = arith.sitofp %b : tensor<7x2048xi32> to tensor<7x2048xf32>
  %singleColumns = shoal.reduce sum %single dims = [0] : tensor<7x2048xf32> -> tensor<2048xf32>
  %narrow = arith.sitofp %b : tensor<7x2048xi32> to tensor<7x2048xbf16>
  %narrowRows = shoal.reduce max %narrow dims = [1] : tensor<7x2048xbf16> -> tensor<7xbf16>
  %t = shoal.transpose %z permutation = [1, 0] : tensor<70x50xi32> -> tensor<50x70xi32>
  %ch = arith.sitofp %c : tensor<70x50xi32> to tensor<70x50xbf16>
  %th = shoal.transpose %ch permutation = [1, 0] : tensor<70x50xbf16> -> tensor<50x70xbf16>
  %zeros = arith.constant dense<4> : tensor<7x2048xi32>
  %is = arith.cmpi eq, %b, %zeros : tensor<7x2048xi32>
  %any = shoal.reduce or %is dims = [1] : tensor<7x2048xi1> -> tensor<7xi1>
  %six = arith.constant dense<-6> : tensor<37x1000xi32>
  %more = arith.cmpi sgt, %a, %six : tensor<37x1000xi32>
  %every = shoal.reduce and %more dims = [0] : tensor<37x1000xi1> -> tensor<1000xi1>
  %e = shoal.reshape %c : tensor<70x50xi32> -> tensor<70x5x10xi32>
  %el = arith.extsi %e : tensor<70x5x10xi32> to tensor<70x5x10xi64>
  %middle = shoal.reduce prod %el dims = [1] : tensor<70x5x10xi64> -> tensor<70x10xi64>
  %ten = shoal.reduce sum %e dims = [2] : tensor<70x5x10xi32> -> tensor<70x5xi32>
  %ed = arith.sitofp %e : tensor<70x5x10xi32> to tensor<70x5x10xf64>
  %around = shoal.reduce sum %ed dims = [0, 2] : tensor<70x5x10xf64> -> tensor<5xf64>
  %q = shoal.reshape %y : tensor<7x2048xi32> -> tensor<7x4x64x8xi32>
  %p = shoal.transpose %q permutation = [2, 3, 0, 1] : tensor<7x4x64x8xi32> -> tensor<64x8x7x4xi32>
  %ah = arith.sitofp %a : tensor<37x1000xi32> to tensor<37x1000xf16>
  %least = shoal.reduce min %ah dims = [1] : tensor<37x1000xf16> -> tensor<37xf16>
  return %rows, %long, %all, %columns, %wideRows, %singleColumns, %narrowRows, %t, %th, %any,
      %every, %middle, %ten, %around, %p, %least : tensor<37xi32>, tensor<7xi32>, tensor<f64>,
      tensor<1000xi32>, tensor<37xi64>, tensor<2048xf32>, tensor<7xbf16>, tensor<50x70xi32>,
      tensor<50x70xbf16>, tensor<7xi1>, tensor<1000xi1>, tensor<70x10xi64>, tensor<70x5xi32>,
      tensor<5xf64>, tensor<64x8x7x4xi32>, tensor<37xf16>
}
