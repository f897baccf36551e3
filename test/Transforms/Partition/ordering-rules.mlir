// RUN: shoal-opt %s --shoal-print-factor-rules -verify-diagnostics

// What splits where, for ops along a dimension.

func.func @sort(%x: tensor<9x40xf32>, %i: tensor<9x40xi32>) {
  // expected-remark @below {{([i, j], [i, j]) -> ([i, j], [i, j]) i=9 j=40, needs whole j}}
  %0:2 = shoal.sort %x, %i dim = 1 : (tensor<9x40xf32>, tensor<9x40xi32>) -> (tensor<9x40xf32>, tensor<9x40xi32>)
  return
}

func.func @cumulative(%x: tensor<9x40xf32>) {
  // expected-remark @below {{([i, j]) -> ([i, j]) i=9 j=40, gathers a slab of result 0 over i}}
  %0 = shoal.cumulative max %x dim = 0 : tensor<9x40xf32>
  return
}

func.func @reduce_region(%x: tensor<9x40x2xi32>, %zero: tensor<i32>) {
  // expected-remark @below {{([i, j, k], []) -> ([j]) i=9 j=40 k=2, reduces i k}}
  %0 = shoal.reduce_region(%x) inits(%zero) dims = [0, 2] {
  ^combine(%p: i32, %q: i32):
    // expected-remark @below {{([], []) -> ([])}}
    %m = arith.maxui %p, %q : i32
    shoal.yield %m : i32
  } : (tensor<9x40x2xi32>, tensor<i32>) -> tensor<40xi32>
  return
}

func.func @bitcast_convert(%x: tensor<6x2xi16>) {
  // expected-remark @below {{([i, j]) -> ([i]) i=6 j=2, needs whole j}}
  %0 = shoal.bitcast_convert %x : tensor<6x2xi16> -> tensor<6xf32>
  // expected-remark @below {{([i]) -> ([i]) i=6}}
  %1 = shoal.bitcast_convert %0 : tensor<6xf32> -> tensor<6xi32>
  // expected-remark @below {{([i]) -> ([i, j]) i=6 j=4, needs whole j}}
  %2 = shoal.bitcast_convert %1 : tensor<6xi32> -> tensor<6x4xi8>
  return
}

func.func @fft(%x: tensor<9x40xf32>, %r: tensor<9x21xf32>) {
  // expected-remark @below {{([i, j], [i, j]) -> ([i, j], [i, j]) i=9 j=40, needs whole j, linear in (0, 1)}}
  %0:2 = shoal.fft %x, %x dim = 1 : (tensor<9x40xf32>, tensor<9x40xf32>) -> (tensor<9x40xf32>, tensor<9x40xf32>)
  // expected-remark @below {{([i, j]) -> ([i, k], [i, k]) i=9 j=40 k=21, needs whole j k, linear in (0)}}
  %1:2 = shoal.fft %x dim = 1 : (tensor<9x40xf32>) -> (tensor<9x21xf32>, tensor<9x21xf32>)
  // expected-remark @below {{([i, j], [i, j]) -> ([i, k]) i=9 j=21 k=40, needs whole j k, linear in (0, 1)}}
  %2 = shoal.fft %r, %r dim = 1 {inverse} : (tensor<9x21xf32>, tensor<9x21xf32>) -> tensor<9x40xf32>
  return
}
