// RUN: shoal-opt %s --shoal-map-kernels --split-input-file --verify-diagnostics

func.func private @scalar(%s: f32, %x: memref<4xf32>) {
  // expected-error @+1 {{kernel argument 0 is no buffer but 'f32'}}
  linalg.fill ins(%s : f32) outs(%x : memref<4xf32>)
  return
}

// -----

func.func private @dynamic(%x: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{loop 0: a kernel's loops have static ranges}}
  linalg.fill ins(%zero : f32) outs(%x : memref<?xf32>)
  return
}

// -----

func.func private @moving(%x: memref<4xf32, strided<[1], offset: ?>>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{operand 1: a kernel's buffer has a static strided layout and elements of numbers, but got 'memref<4xf32, strided<[1], offset: ?>>'}}
  linalg.fill ins(%zero : f32) outs(%x : memref<4xf32, strided<[1], offset: ?>>)
  return
}

// -----

func.func private @folded(%x: memref<2xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{operand 0: a kernel's indexing map is linear, but got affine_map<(d0) -> (d0 floordiv 2)>}}
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0 floordiv 2)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x : memref<2xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// -----

func.func private @other_rows(%x: memref<64x64xf32>, %y: memref<64x64xf32>, %sum: memref<64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>, affine_map<(r, c) -> (r)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<64x64xf32>) outs(%sum : memref<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.addf %out, %in : f32
    linalg.yield %0 : f32
  }
  // expected-error @+1 {{expected the ops of a kernel to work on the same rows}}
  linalg.generic {indexing_maps = [affine_map<(r, c) -> (c)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%sum : memref<64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  }
  return
}

// -----

func.func private @moving_rows(%n: memref<4xi32>, %x: memref<?xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%n : memref<4xi32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: i32, %out: f32):
    %place = arith.index_cast %in : i32 to index
    // expected-error @+1 {{a kernel reads through indices from a buffer with a static layout of strides that are not negative and elements of numbers, but got 'memref<?xf32>'}}
    %0 = memref.load %x[%place] : memref<?xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

func.func private @conditional(%c: memref<4xi1>, %x: memref<4xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%c : memref<4xi1>) outs(%y : memref<4xf32>) {
  ^bb0(%in: i1, %out: f32):
    %place = linalg.index 0 : index
    %0 = scf.if %in -> f32 {
      // expected-error @+1 {{a kernel reads buffers that are no operands in its body, but not inside of scf.if}}
      %1 = memref.load %x[%place] : memref<4xf32>
      scf.yield %1 : f32
    } else {
      scf.yield %out : f32
    }
    linalg.yield %0 : f32
  }
  return
}

// -----

func.func private @something_else(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%x : memref<4xf32>)
  // expected-error @+1 {{expected a constant or a linalg op in a kernel}}
  memref.copy %x, %x : memref<4xf32> to memref<4xf32>
  return
}
