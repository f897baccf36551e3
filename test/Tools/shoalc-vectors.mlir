// RUN: rm -rf %t && mkdir -p %t && shoalc %s --save-temps=%t -o %t/program && FileCheck %s < %t/kernels.ll

// The loop over a row runs on vectors, whatever NaN does.
// CHECK: call <{{[0-9]+}} x float> @llvm.maximum.v{{[0-9]+}}f32
func.func @main(%x: tensor<64x1024xf32>) -> tensor<64xf32> {
  %y = shoal.reduce max %x dims = [1] : tensor<64x1024xf32> -> tensor<64xf32>
  return %y : tensor<64xf32>
}
