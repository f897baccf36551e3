// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-kernels-to-functions

gpu.module @kernels {
  gpu.func @shuffle_of_floats(%x: memref<4xf32>) kernel {
    %i = gpu.thread_id x
    %0 = memref.load %x[%i] : memref<4xf32>
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    // expected-error @below {{'gpu.shuffle' op expected a shuffle of i32 whose partner is known to exist}}
    %s, %valid = gpu.shuffle xor %0, %c1, %c32 : f32
    memref.store %s, %x[%i] : memref<4xf32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @partner_that_may_not_exist(%x: memref<4xi32>, %y: memref<4xi1>) kernel {
    %i = gpu.thread_id x
    %0 = memref.load %x[%i] : memref<4xi32>
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    // expected-error @below {{'gpu.shuffle' op expected a shuffle of i32 whose partner is known to exist}}
    %s, %valid = gpu.shuffle down %0, %c1, %c32 : i32
    memref.store %valid, %y[%i] : memref<4xi1>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @lane_id(%x: memref<4xindex>) kernel {
    // expected-error @below {{'gpu.lane_id' op the emulated device has no such operation}}
    %i = gpu.lane_id
    memref.store %i, %x[%i] : memref<4xindex>
    gpu.return
  }
}
