// RUN: rm -rf %t && split-file %s %t
// RUN: shoal-run %t/sums.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/sums.mlir --shoal-partition | FileCheck %s --check-prefix=SUMS
// RUN: shoal-run %t/exchange.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/control.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/uneven.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/uneven.mlir --shoal-partition | FileCheck %s --check-prefix=UNEVEN
// RUN: shoal-run %t/casts.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-run %t/parts.mlir --random-inputs=3 --compare | FileCheck %s
// RUN: shoal-opt %t/parts.mlir --shoal-import --shoal-partition | FileCheck %s --check-prefix=PARTS
// RUN: not shoal-run %t/differs.mlir --random-inputs=3 --devices=0 2>&1 | FileCheck %s --check-prefix=DIFFERS

// Regions for one device in others, and regions whose shards are not all full:
// the partitioned program computes what the global one does.
// CHECK: result0: {{.*}}: ok

// The inner region contracts over "n" by hand; its collectives go over both
// regions' axes, while "a" is the compiler's everywhere.
// SUMS: shoal.einsum "IK,KJ->IJ" {{.*}} (tensor<2x6xf32>, tensor<6x6xf32>) -> tensor<2x6xf32>
// SUMS-NEXT: spmd.all_reduce sum @mesh {"n"} {{.*}} : tensor<2x6xf32>
// SUMS-NEXT: spmd.all_reduce max @mesh {"m", "n"} {{.*}} : tensor<2x6xf32>
// SUMS: spmd.collective_permute @mesh {"m"} -> @mesh {"m"}
// SUMS: spmd.axis_index @mesh {"m", "n"}

//--- sums.mlir

shoal.mesh @mesh = <["m" = 2, "n" = 2, "a" = 2]>
func.func @main(%x: tensor<8x12xf32>, %w: tensor<12x6xf32>) -> (tensor<8x6xf32>, tensor<4xi32>) {
  %y, %p = shoal.manual_computation @mesh {"m"} (%x, %w)
      in [#shoal.sharding<@mesh, [{"m"}, {?}]>, #shoal.sharding<@mesh, [{}, {?}]>]
      out [#shoal.sharding<@mesh, [{"m"}, {?}]>, #shoal.sharding<@mesh, [{"m"}]>] {
  ^bb0(%xm: tensor<4x12xf32>, %wm: tensor<12x6xf32>):
    %e = math.tanh %xm : tensor<4x12xf32>
    %q, %i = shoal.manual_computation @mesh {"n"} (%e, %wm)
        in [#shoal.sharding<@mesh, [{"a"}, {"n"}]>, #shoal.sharding<@mesh, [{"n"}, {?}]>]
        out [#shoal.sharding<@mesh, [{?}, {?}]>, #shoal.sharding<@mesh, [{"n"}]>] {
    ^bb0(%xn: tensor<4x6xf32>, %wn: tensor<6x6xf32>):
      %part = shoal.einsum "IK,KJ->IJ" %xn, %wn : (tensor<4x6xf32>, tensor<6x6xf32>) -> tensor<4x6xf32>
      %sum = spmd.all_reduce sum @mesh {"n"} %part : tensor<4x6xf32>
      %top = spmd.all_reduce max @mesh {"m", "n"} %sum : tensor<4x6xf32>
      %shifted = arith.subf %sum, %top : tensor<4x6xf32>
      %next = spmd.collective_permute @mesh {"m"} -> @mesh {"m"} %shifted {shift = 1} : tensor<4x6xf32>
      %index = spmd.axis_index @mesh {"m", "n"} : tensor<i32>
      %one = shoal.reshape %index : tensor<i32> -> tensor<1xi32>
      shoal.yield %next, %one : tensor<4x6xf32>, tensor<1xi32>
    } : (tensor<4x12xf32>, tensor<12x6xf32>) -> (tensor<4x6xf32>, tensor<2xi32>)
    %r = math.exp %q : tensor<4x6xf32>
    shoal.yield %r, %i : tensor<4x6xf32>, tensor<2xi32>
  } : (tensor<8x12xf32>, tensor<12x6xf32>) -> (tensor<8x6xf32>, tensor<4xi32>)
  return %y, %p : tensor<8x6xf32>, tensor<4xi32>
}

// Reshards in the inner region stay among devices that share a place along the
// axes of both, whatever the order of the devices.

//--- exchange.mlir

shoal.mesh @mesh = <["m" = 2, "a" = 2, "n" = 2, "b" = 2], device_ids = [9, 2, 7, 0, 15, 4, 11, 6, 1, 14, 3, 12, 5, 10, 13, 8]>
func.func @main(%x: tensor<10x14xf32>) -> tensor<10x14xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {"a"}]>] out [#shoal.sharding<@mesh, [{"m"}, {?}]>] {
  ^bb0(%l: tensor<5x14xf32>):
    %r = shoal.sharding_constraint %l <@mesh, [{"a", "n"}, {"b"}]> : tensor<5x14xf32>
    %z = shoal.manual_computation @mesh {"n"} (%r)
        in [#shoal.sharding<@mesh, [{"a"}, {"n"}]>] out [#shoal.sharding<@mesh, [{?}, {"n", ?}]>] {
    ^bb0(%k: tensor<5x7xf32>):
      %s = shoal.sharding_constraint %k <@mesh, [{"b"}, {"a"}]> : tensor<5x7xf32>
      %e = math.tanh %s : tensor<5x7xf32>
      %t = shoal.sharding_constraint %e <@mesh, [{}, {"a", "b"}]> : tensor<5x7xf32>
      %sum = shoal.reduce sum %t dims = [1] : tensor<5x7xf32> -> tensor<5xf32>
      %all = spmd.all_reduce sum @mesh {"n", "m"} %sum : tensor<5xf32>
      %c = shoal.broadcast_in_dim %all dims = [0] : tensor<5xf32> -> tensor<5x7xf32>
      %u = arith.subf %t, %c : tensor<5x7xf32>
      shoal.yield %u : tensor<5x7xf32>
    } : (tensor<5x14xf32>) -> tensor<5x14xf32>
    shoal.yield %z : tensor<5x14xf32>
  } : (tensor<10x14xf32>) -> tensor<10x14xf32>
  return %y : tensor<10x14xf32>
}

// The inner region in a function, in a loop of the outer one.

//--- control.mlir

shoal.mesh @mesh = <["m" = 2, "n" = 2]>
func.func private @inner(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %y = shoal.manual_computation @mesh {"n"} (%x)
      in [#shoal.sharding<@mesh, [{}, {"n"}]>] out [#shoal.sharding<@mesh, [{}, {"n"}]>] {
  ^bb0(%l: tensor<4x3xf32>):
    %sum = spmd.all_reduce sum @mesh {"m", "n"} %l : tensor<4x3xf32>
    %e = math.tanh %sum : tensor<4x3xf32>
    shoal.yield %e : tensor<4x3xf32>
  } : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
func.func @main(%x: tensor<8x6xf32>) -> tensor<8x6xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {"n"}]>] out [#shoal.sharding<@mesh, [{"m"}, {?}]>] {
  ^bb0(%l: tensor<4x6xf32>):
    %zero = arith.constant dense<0> : tensor<i32>
    %one = arith.constant dense<1> : tensor<i32>
    %three = arith.constant dense<3> : tensor<i32>
    %r:2 = shoal.while (%i = %zero, %a = %l) : tensor<i32>, tensor<4x6xf32> cond {
      %more = arith.cmpi slt, %i, %three : tensor<i32>
      shoal.yield %more : tensor<i1>
    } do {
      %z = func.call @inner(%a) : (tensor<4x6xf32>) -> tensor<4x6xf32>
      %n = arith.addf %z, %a : tensor<4x6xf32>
      %next = arith.addi %i, %one : tensor<i32>
      shoal.yield %next, %n : tensor<i32>, tensor<4x6xf32>
    }
    shoal.yield %r#1 : tensor<4x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %y : tensor<8x6xf32>
}

// 13 rows on 4 devices are 4 each, 3 of them past the end: the region finds
// zeros there, and its results drop what it puts there. "a" splits the shard;
// in the region, 5 columns fall into 3 shards of 2, one of them half full.
// UNEVEN: %[[IN:.+]] = arith.cmpi slt, %{{.*}} : tensor<2x5xi32>
// UNEVEN-NEXT: arith.select %[[IN]], %{{.*}} : tensor<2x5xi1>, tensor<2x5xf32>
// UNEVEN: spmd.all_reduce sum @mesh {"m"}
// UNEVEN: arith.select {{.*}} : tensor<{{[12]}}x2xi1>, tensor<{{[12]}}x2xf32>

//--- uneven.mlir

shoal.mesh @mesh = <["m" = 4, "a" = 2, "n" = 3]>
func.func @main(%x: tensor<13x5xf32>) -> (tensor<13x5xf32>, tensor<5xf32>, tensor<3x5xf32>, tensor<2x5xf32>) {
  %xs = math.exp %x : tensor<13x5xf32>
  %y, %s, %z, %past = shoal.manual_computation @mesh {"m"} (%xs)
      in [#shoal.sharding<@mesh, [{"m", "a"}, {}]>]
      out [#shoal.sharding<@mesh, [{"m", ?}, {?}]>, #shoal.sharding<@mesh, [{?}]>, #shoal.sharding<@mesh, [{"m"}, {?}]>,
           #shoal.sharding<@mesh, [{?}, {?}]>] {
  ^bb0(%l: tensor<4x5xf32>):
    %sum = shoal.reduce sum %l dims = [0] : tensor<4x5xf32> -> tensor<5xf32>
    %all = spmd.all_reduce sum @mesh {"m"} %sum : tensor<5xf32>
    %b = shoal.broadcast_in_dim %all dims = [1] : tensor<5xf32> -> tensor<4x5xf32>
    %q = arith.divf %l, %b : tensor<4x5xf32>
    %row = shoal.reshape %sum : tensor<5xf32> -> tensor<1x5xf32>
    %filled = spmd.all_gather @mesh [{"m"}, {}] %l : tensor<4x5xf32> -> tensor<16x5xf32>
    %last = shoal.slice %filled starts = [12, 0] limits = [14, 5] strides = [1, 1] : tensor<16x5xf32> -> tensor<2x5xf32>
    %t = shoal.manual_computation @mesh {"n"} (%last)
        in [#shoal.sharding<@mesh, [{?}, {"n"}]>] out [#shoal.sharding<@mesh, [{?}, {"n"}]>] {
    ^bb0(%c: tensor<2x2xf32>):
      %total = shoal.reduce sum %c dims = [1] : tensor<2x2xf32> -> tensor<2xf32>
      %rows = spmd.all_reduce sum @mesh {"n"} %total : tensor<2xf32>
      %r = shoal.broadcast_in_dim %rows dims = [0] : tensor<2xf32> -> tensor<2x2xf32>
      %d = arith.addf %c, %r : tensor<2x2xf32>
      shoal.yield %d : tensor<2x2xf32>
    } : (tensor<2x5xf32>) -> tensor<2x5xf32>
    shoal.yield %q, %all, %row, %t : tensor<4x5xf32>, tensor<5xf32>, tensor<1x5xf32>, tensor<2x5xf32>
  } : (tensor<13x5xf32>) -> (tensor<13x5xf32>, tensor<5xf32>, tensor<3x5xf32>, tensor<2x5xf32>)
  return %y, %s, %z, %past : tensor<13x5xf32>, tensor<5xf32>, tensor<3x5xf32>, tensor<2x5xf32>
}

// GShard's spelling, of rows that do not divide, in a region along another axis.

//--- casts.mlir

shoal.mesh @mesh = <["m" = 2, "x" = 3]>
func.func @main(%x: tensor<6x7xf32>) -> tensor<6x7xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x)
      in [#shoal.sharding<@mesh, [{"m"}, {?}]>] out [#shoal.sharding<@mesh, [{"m"}, {?}]>] {
  ^bb0(%l: tensor<3x7xf32>):
    %c = shoal.auto_to_manual %l <@mesh, [{}, {"x"}]> : tensor<3x7xf32> -> tensor<3x3xf32>
    %r = shoal.reduce sum %c dims = [1] : tensor<3x3xf32> -> tensor<3xf32>
    %s = spmd.all_reduce sum @mesh {"x", "m"} %r : tensor<3xf32>
    %b = shoal.broadcast_in_dim %s dims = [0] : tensor<3xf32> -> tensor<3x3xf32>
    %d = arith.subf %c, %b : tensor<3x3xf32>
    %z = shoal.manual_to_auto %d <@mesh, [{}, {"x"}]> : tensor<3x3xf32> -> tensor<3x7xf32>
    shoal.yield %z : tensor<3x7xf32>
  } : (tensor<6x7xf32>) -> tensor<6x7xf32>
  return %y : tensor<6x7xf32>
}

// Along an axis of another mesh, which is a part of one of the first: of "e",
// whose other part the inner region has.
// PARTS: spmd.all_reduce sum @first {"d":(2)2, "d":(1)2}
// PARTS: spmd.all_reduce sum @first {"d":(2)2}

//--- parts.mlir

shoal.mesh @first = <["d" = 4, "t" = 2]>
shoal.mesh @second = <["o" = 2, "e" = 2, "t" = 2]>
func.func @main(%x: tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %xs = shoal.sharding_constraint %x <@first, [{"d"}, {"t"}]> : tensor<8x6xf32>
  %y, %z = shoal.manual_computation @second {"e"} (%xs)
      in [#shoal.sharding<@second, [{"e", "o"}, {?}]>]
      out [#shoal.sharding<@second, [{"e", ?}, {?}]>, #shoal.sharding<@second, [{"e"}, {"t"}]>] {
  ^bb0(%l: tensor<4x6xf32>):
    %i = shoal.manual_computation @second {"o"} (%l)
        in [#shoal.sharding<@second, [{"o"}, {?}]>] out [#shoal.sharding<@second, [{"o"}, {?}]>] {
    ^bb0(%k: tensor<2x6xf32>):
      %s = spmd.all_reduce sum @second {"e", "o"} %k : tensor<2x6xf32>
      %t = arith.subf %k, %s : tensor<2x6xf32>
      shoal.yield %t : tensor<2x6xf32>
    } : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %s = spmd.all_reduce sum @second {"e"} %i : tensor<4x6xf32>
    %e = math.exp %s : tensor<4x6xf32>
    shoal.yield %i, %e : tensor<4x6xf32>, tensor<4x6xf32>
  } : (tensor<8x6xf32>) -> (tensor<8x6xf32>, tensor<8x6xf32>)
  return %y, %z : tensor<8x6xf32>, tensor<8x6xf32>
}

// What the inner region says is the same along "n" is not.
// DIFFERS: error: 'shoal.manual_computation' op result 0: devices 0 and 1 hold different copies of one element

//--- differs.mlir

shoal.mesh @mesh = <["m" = 2, "n" = 2]>
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = shoal.manual_computation @mesh {"m"} (%x) in [#shoal.sharding<@mesh, [{"m"}, {}]>] out [#shoal.sharding<@mesh, [{"m"}, {}]>] {
  ^bb0(%l: tensor<2x4xf32>):
    %z = shoal.manual_computation @mesh {"n"} (%l) in [#shoal.sharding<@mesh, [{"n"}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
    ^bb0(%k: tensor<1x4xf32>):
      %b = shoal.broadcast_in_dim %k dims = [0, 1] : tensor<1x4xf32> -> tensor<2x4xf32>
      shoal.yield %b : tensor<2x4xf32>
    } : (tensor<2x4xf32>) -> tensor<2x4xf32>
    shoal.yield %z : tensor<2x4xf32>
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
