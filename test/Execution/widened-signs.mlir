// Integers with a sign that are widened and then taken as unsigned, in loops
// that LLVM's SLP vectorizer would narrow again and lose the sign.
// RUN: rm -rf %t && mkdir %t
// RUN: shoalc %s -o %t/program --save-temps=%t/temps
// RUN: FileCheck %s --input-file=%t/temps/kernels.ll
// RUN: %t/program --random-inputs=3 --output-dir %t/compiled
// RUN: shoal-run %s --random-inputs=3 --output-dir %t/interpreted
// RUN: %python -c "import numpy as np; [np.testing.assert_array_equal(np.load(f'%t/compiled/result{i}.npy'), np.load(f'%t/interpreted/result{i}.npy')) for i in range(4)]"

// CHECK-NOT: uitofp {{.*}}i32>

func.func @main(%a: tensor<4096xi8>, %b: tensor<12x24x24x24xi8>, %c: tensor<512x16xi16>, %d: tensor<512x16xi16>)
    -> (tensor<4096xf32>, tensor<12x24x24x24xf32>, tensor<4096xf64>, tensor<512xi32>) {
  %0 = arith.extsi %a : tensor<4096xi8> to tensor<4096xi64>
  %1 = arith.uitofp %0 : tensor<4096xi64> to tensor<4096xf32>
  %2 = arith.extsi %b : tensor<12x24x24x24xi8> to tensor<12x24x24x24xi64>
  %3 = arith.uitofp %2 : tensor<12x24x24x24xi64> to tensor<12x24x24x24xf32>
  %4 = arith.uitofp %0 : tensor<4096xi64> to tensor<4096xf64>
  %5 = arith.extsi %c : tensor<512x16xi16> to tensor<512x16xi32>
  %6 = arith.extui %d : tensor<512x16xi16> to tensor<512x16xi32>
  %7 = arith.cmpi sge, %6, %5 : tensor<512x16xi32>
  %8 = arith.extui %7 : tensor<512x16xi1> to tensor<512x16xi32>
  %9 = arith.andi %8, %6 : tensor<512x16xi32>
  %10 = shoal.reduce sum %9 dims = [1] : tensor<512x16xi32> -> tensor<512xi32>
  return %1, %3, %4, %10 : tensor<4096xf32>, tensor<12x24x24x24xf32>, tensor<4096xf64>, tensor<512xi32>
}
