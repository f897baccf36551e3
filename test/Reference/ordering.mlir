// RUN: shoal-run %s --print | FileCheck %s

func.func @main() -> (
    tensor<8xf32> {shoal.name = "ascending"}, tensor<8xi32> {shoal.name = "carried"},
    tensor<8xf32> {shoal.name = "descending"}, tensor<8xi32> {shoal.name = "descending_carried"},
    tensor<5xi32> {shoal.name = "first_key"}, tensor<5xi32> {shoal.name = "second_key"},
    tensor<3x2xi8> {shoal.name = "rows"}, tensor<4xi1> {shoal.name = "booleans"},
    tensor<2xi32> {shoal.name = "argmax"}, tensor<3xi64> {shoal.name = "argmin"},
    tensor<i32> {shoal.name = "argmax_all_lowest"}, tensor<i32> {shoal.name = "argmin_booleans"},
    tensor<i32> {shoal.name = "argmax_zeros"},
    tensor<2xi8> {shoal.name = "unsigned_max"}, tensor<2xf32> {shoal.name = "largest"},
    tensor<2xi32> {shoal.name = "count"}, tensor<0xi8> {shoal.name = "of_no_rows"},
    tensor<2xi8> {shoal.name = "of_none"},
    tensor<5xf32> {shoal.name = "clamped"}, tensor<3xi1> {shoal.name = "clamped_booleans"},
    tensor<2xi32> {shoal.name = "clamped_crossed"},
    tensor<2xi32> {shoal.name = "bits"}, tensor<1x4xi8> {shoal.name = "bytes"},
    tensor<2xbf16> {shoal.name = "halves"}, tensor<f32> {shoal.name = "joined"}) {
  // 0xFFC00000 is a NaN with its sign set, 0xFF800000 is -inf.
  %x = arith.constant dense<[0xFFC00000, 0.0, -0.0, 2.0, 0x7FC00000, -1.5, 0xFF800000, 0.0]> : tensor<8xf32>
  %i = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7]> : tensor<8xi32>
  // CHECK: ascending: tensor<8xf32> = [-inf, -1.5, 0, -0, 0, 2, nan, nan]
  // CHECK: carried: tensor<8xi32> = [6, 5, 1, 2, 7, 3, 0, 4]
  %up:2 = shoal.sort %x, %i dim = 0 : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  // CHECK: descending: tensor<8xf32> = [nan, nan, 2, 0, -0, 0, -1.5, -inf]
  // CHECK: descending_carried: tensor<8xi32> = [0, 4, 3, 1, 2, 7, 5, 6]
  %down:2 = shoal.sort %x, %i dim = 0 {descending} : (tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<8xi32>)
  %k = arith.constant dense<[1, 0, 1, 0, 1]> : tensor<5xi32>
  %l = arith.constant dense<[5, -2, 3, -1, 4]> : tensor<5xi32>
  // CHECK: first_key: tensor<5xi32> = [0, 0, 1, 1, 1]
  // CHECK: second_key: tensor<5xi32> = [-2, -1, 3, 4, 5]
  %keys:2 = shoal.sort %k, %l dim = 0 {num_keys = 2} : (tensor<5xi32>, tensor<5xi32>) -> (tensor<5xi32>, tensor<5xi32>)
  %m = arith.constant dense<[[3, -128], [127, 5], [-1, 4]]> : tensor<3x2xi8>
  // CHECK{LITERAL}: rows: tensor<3x2xi8> = [[-1, -128], [3, 4], [127, 5]]
  %rows = shoal.sort %m dim = 0 : (tensor<3x2xi8>) -> tensor<3x2xi8>
  %b = arith.constant dense<[true, false, true, false]> : tensor<4xi1>
  // CHECK: booleans: tensor<4xi1> = [0, 0, 1, 1]
  %booleans = shoal.sort %b dim = 0 : (tensor<4xi1>) -> tensor<4xi1>

  %y = arith.constant dense<[[3.0, 5.0, 5.0], [1.0, 0x7FC00000, 0x7FC00000]]> : tensor<2x3xf32>
  // CHECK: argmax: tensor<2xi32> = [1, 1]
  %argmax = shoal.argmax %y dim = 1 : tensor<2x3xf32> -> tensor<2xi32>
  // CHECK: argmin: tensor<3xi64> = [1, 1, 1]
  %argmin = shoal.argmin %y dim = 0 : tensor<2x3xf32> -> tensor<3xi64>
  %lowest = arith.constant dense<-128> : tensor<3xi8>
  // CHECK: argmax_all_lowest: tensor<i32> = 0
  %all_lowest = shoal.argmax %lowest dim = 0 : tensor<3xi8> -> tensor<i32>
  // CHECK: argmin_booleans: tensor<i32> = 1
  %argmin_booleans = shoal.argmin %b dim = 0 : tensor<4xi1> -> tensor<i32>
  %zeros = arith.constant dense<[-0.0, 0.0]> : tensor<2xf32>
  // CHECK: argmax_zeros: tensor<i32> = 0
  %argmax_zeros = shoal.argmax %zeros dim = 0 : tensor<2xf32> -> tensor<i32>

  %u = arith.constant dense<[[1, 255, 3], [0, 0, 7]]> : tensor<2x3xi8>
  %zero = arith.constant dense<0> : tensor<i8>
  // CHECK: unsigned_max: tensor<2xi8> = [-1, 7]
  %unsigned_max = shoal.reduce_region(%u) inits(%zero) dims = [1] {
  ^combine(%p: i8, %q: i8):
    %largest = arith.maxui %p, %q : i8
    shoal.yield %largest : i8
  } : (tensor<2x3xi8>, tensor<i8>) -> tensor<2xi8>
  %z = arith.constant dense<[[1.0, 2.0, 2.0], [4.0, 4.0, 4.0]]> : tensor<2x3xf32>
  %ones = arith.constant dense<1> : tensor<2x3xi32>
  %inf = arith.constant dense<0xFF800000> : tensor<f32>
  %none = arith.constant dense<0> : tensor<i32>
  // The largest, and how often it occurs.
  // CHECK: largest: tensor<2xf32> = [2, 4]
  // CHECK: count: tensor<2xi32> = [2, 3]
  %pair:2 = shoal.reduce_region(%z, %ones) inits(%inf, %none) dims = [1] {
  ^combine(%p: f32, %n: i32, %q: f32, %o: i32):
    %zeroes = arith.constant 0 : i32
    %less = arith.cmpf olt, %p, %q : f32
    %more = arith.cmpf ogt, %p, %q : f32
    %n1 = arith.select %less, %zeroes, %n : i32
    %o1 = arith.select %more, %zeroes, %o : i32
    %sum = arith.addi %n1, %o1 : i32
    %largest = arith.select %less, %q, %p : f32
    shoal.yield %largest, %sum : f32, i32
  } : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  %e = arith.constant dense<> : tensor<0x3xi8>
  // CHECK: of_no_rows: tensor<0xi8> = []
  %of_no_rows = shoal.reduce_region(%e) inits(%zero) dims = [1] {
  ^combine(%p: i8, %q: i8):
    %largest = arith.maxui %p, %q : i8
    shoal.yield %largest : i8
  } : (tensor<0x3xi8>, tensor<i8>) -> tensor<0xi8>
  %f = arith.constant dense<> : tensor<2x0xi8>
  // CHECK: of_none: tensor<2xi8> = [0, 0]
  %of_none = shoal.reduce_region(%f) inits(%zero) dims = [1] {
  ^combine(%p: i8, %q: i8):
    %largest = arith.maxui %p, %q : i8
    shoal.yield %largest : i8
  } : (tensor<2x0xi8>, tensor<i8>) -> tensor<2xi8>

  %c = arith.constant dense<[-2.0, 0.5, 9.0, 0x7FC00000, 0xFF800000]> : tensor<5xf32>
  %low = arith.constant dense<-1.0> : tensor<f32>
  %high = arith.constant dense<[1.0, 1.0, 4.0, 1.0, 1.0]> : tensor<5xf32>
  // CHECK: clamped: tensor<5xf32> = [-1, 0.5, 4, nan, -1]
  %clamped = shoal.clamp %low, %c, %high : tensor<f32>, tensor<5xf32>, tensor<5xf32>
  %d = arith.constant dense<[false, true, true]> : tensor<3xi1>
  %true = arith.constant dense<true> : tensor<i1>
  %false = arith.constant dense<[true, false, false]> : tensor<3xi1>
  // CHECK: clamped_booleans: tensor<3xi1> = [1, 1, 1]
  %clamped_booleans = shoal.clamp %false, %d, %true : tensor<3xi1>, tensor<3xi1>, tensor<i1>
  %g = arith.constant dense<[-3, 3]> : tensor<2xi32>
  %two = arith.constant dense<2> : tensor<i32>
  %minus = arith.constant dense<-2> : tensor<i32>
  // CHECK: clamped_crossed: tensor<2xi32> = [-2, -2]
  %clamped_crossed = shoal.clamp %two, %g, %minus : tensor<i32>, tensor<2xi32>, tensor<i32>

  %h = arith.constant dense<[1.0, -2.0]> : tensor<2xf32>
  // CHECK: bits: tensor<2xi32> = [1065353216, -1073741824]
  %bits = shoal.bitcast_convert %h : tensor<2xf32> -> tensor<2xi32>
  %n = arith.constant dense<[0x04030201]> : tensor<1xi32>
  // CHECK{LITERAL}: bytes: tensor<1x4xi8> = [[1, 2, 3, 4]]
  %bytes = shoal.bitcast_convert %n : tensor<1xi32> -> tensor<1x4xi8>
  %o = arith.constant dense<1.0> : tensor<f32>
  // CHECK: halves: tensor<2xbf16> = [0, 1]
  %halves = shoal.bitcast_convert %o : tensor<f32> -> tensor<2xbf16>
  // CHECK: joined: tensor<f32> = 1
  %joined = shoal.bitcast_convert %halves : tensor<2xbf16> -> tensor<f32>
  return %up#0, %up#1, %down#0, %down#1, %keys#0, %keys#1, %rows, %booleans, %argmax, %argmin,
    %all_lowest, %argmin_booleans, %argmax_zeros, %unsigned_max, %pair#0, %pair#1, %of_no_rows, %of_none,
    %clamped, %clamped_booleans, %clamped_crossed, %bits, %bytes, %halves, %joined
    : tensor<8xf32>, tensor<8xi32>, tensor<8xf32>, tensor<8xi32>, tensor<5xi32>, tensor<5xi32>,
      tensor<3x2xi8>, tensor<4xi1>, tensor<2xi32>, tensor<3xi64>, tensor<i32>, tensor<i32>, tensor<i32>,
      tensor<2xi8>, tensor<2xf32>, tensor<2xi32>, tensor<0xi8>, tensor<2xi8>, tensor<5xf32>, tensor<3xi1>,
      tensor<2xi32>, tensor<2xi32>, tensor<1x4xi8>, tensor<2xbf16>, tensor<f32>
}
