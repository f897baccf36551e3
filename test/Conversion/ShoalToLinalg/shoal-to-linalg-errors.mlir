// RUN: shoal-opt %s --shoal-to-linalg --split-input-file --verify-diagnostics

func.func @composites_must_be_decomposed(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{is not an op of a per-device program: the program must be decomposed and partitioned}}
  %0 = shoal.softmax %x {axis = 1} : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

func.func @annotations_must_be_resolved(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error @+1 {{is not an op of a per-device program}}
  %0 = shoal.replicate %x : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// expected-error @+1 {{'gpu.module' op is not an op of a per-device program, of which kernels are made}}
gpu.module @kernels {
}
