// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-verify-device

func.func @c1_a_copy_in_a_kernel(%x: memref<4xf32>, %y: memref<4xf32>) {
  rt.kernel {
    // expected-error @below {{'memref.copy' op stands in an rt.kernel: expected linalg ops and memref.alloca}}
    memref.copy %x, %y : memref<4xf32> to memref<4xf32>
  }
  return
}

// -----

func.func @c2_an_alloca_of_nobody(%x: memref<4xf32>) {
  // expected-error @below {{'memref.alloca' op is no part of an rt.kernel}}
  %0 = memref.alloca() : memref<4xf32>
  linalg.exp ins(%x : memref<4xf32>) outs(%0 : memref<4xf32>)
  return
}

// -----

func.func @c3_too_few_initial_values(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{'linalg.exp' op expected shoal.initial to have 1 elements, one a result, but got []}}
  linalg.exp {shoal.initial = []} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

func.func @c3_an_initial_value_of_another_type(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{'linalg.exp' op expected shoal.initial to have unit or a constant of 'f32' but got 0 : i32}}
  linalg.exp {shoal.initial = [0 : i32]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

func.func @one_knows_its_initial_value(%x: memref<4xf32>, %y: memref<4xf32>) {
  linalg.exp {shoal.initial = [unit]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  linalg.exp {shoal.initial = [0.0 : f32]} ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

func.func @c4_a_call_that_gpus_lack(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @below {{programs for CUDA cannot call rt.fft: cuFFT is not linked; compile for the CPU}}
  rt.fft dim 0 ins(%x, %y : memref<4xf32>, memref<4xf32>) outs(%x, %y : memref<4xf32>, memref<4xf32>)
  return
}

// -----

func.func @c4_a_function_that_gpus_lack(%x: memref<4x4xf32>, %i: memref<i32>, %p: memref<4xi32>) {
  // expected-error @below {{programs for CUDA cannot call "shoal_lapack_getrf": cuSOLVER is not linked; compile for the CPU}}
  rt.custom_call "shoal_lapack_getrf" ins(%x : memref<4x4xf32>) outs(%x, %p, %i : memref<4x4xf32>, memref<4xi32>, memref<i32>)
  rt.custom_call "users" ins(%x : memref<4x4xf32>) outs(%x : memref<4x4xf32>)
  return
}

// -----

func.func @c1_an_alloca_that_something_else_reads(%x: memref<8xf32>, %y: memref<8xf32>) {
  rt.kernel {
    // expected-error @below {{'memref.alloca' op never gets memory, but is used by memref.copy}}
    %0 = memref.alloca() : memref<8xf32>
    linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32>)
    memref.copy %0, %y : memref<8xf32> to memref<8xf32>
  }
  return
}
