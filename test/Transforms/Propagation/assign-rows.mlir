// A layer's plan does not depend on how many layers a loop has: of what is kept
// for the way back a trip writes a row, whatever the number of rows. Kept is
// what the forward pass has gathered, and the way back sends sums alone.
//
// RUN: sed s/LAYERS/3/g %s | shoal-opt --shoal-differentiate="function=layers wrt=0,1 mode=vjp" \
// RUN:   | shoal-opt --shoal-partition="flops-per-byte=1000 repeat-margin=1" --shoal-print-collectives -o /dev/null 2>&1 \
// RUN:   | FileCheck %s -DLAYERS=3
// RUN: sed s/LAYERS/96/g %s | shoal-opt --shoal-differentiate="function=layers wrt=0,1 mode=vjp" \
// RUN:   | shoal-opt --shoal-partition="flops-per-byte=1000 repeat-margin=1" --shoal-print-collectives -o /dev/null 2>&1 \
// RUN:   | FileCheck %s -DLAYERS=96
// RUN: sed s/LAYERS/3/g %s | shoal-opt --shoal-differentiate="function=narrow wrt=0,1 mode=vjp" \
// RUN:   | shoal-opt --shoal-partition="flops-per-byte=1000 repeat-margin=1" --shoal-print-collectives -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NARROW

// CHECK-LABEL: @layers_vjp
// CHECK-NEXT: all_gather {"y"} : {{.*}} 98304 bytes, [[LAYERS]] times
// CHECK-NEXT: reduce_scatter {"x"} : {{.*}} 32768 bytes, [[LAYERS]] times
// CHECK-NEXT: reduce_scatter {"y"} : {{.*}} 98304 bytes, [[LAYERS]] times
// CHECK-NEXT: all_gather {"y"} : {{.*}} 98304 bytes, for result
// CHECK-NEXT: all_gather {"x"} : tensor<[[LAYERS]]x128x64xf32>
// CHECK-NEXT: in all {{.*}} in 5 collectives
shoal.mesh @mesh = <["x" = 2, "y" = 4]>
func.func @layers(%x0: tensor<256x256xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                  %w: tensor<LAYERSx256x256xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"y"}]>}) -> tensor<256x256xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %layers = arith.constant dense<LAYERS> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %x = %x0) : tensor<i32>, tensor<256x256xf32> cond {
    %more = arith.cmpi slt, %i, %layers : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %row = shoal.dynamic_slice %w[%i, %zero, %zero] sizes = [1, 256, 256] : (tensor<LAYERSx256x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x256xf32>
    %v = shoal.reshape %row : tensor<1x256x256xf32> -> tensor<256x256xf32>
    %y = shoal.einsum "BA,AC->BC" %x, %v : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %s = shoal.sharding_constraint %y <@mesh, [{"x"}, {"y"}]> : tensor<256x256xf32>
    %z = math.tanh %s : tensor<256x256xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %z : tensor<i32>, tensor<256x256xf32>
  }
  return %r#1 : tensor<256x256xf32>
}

// Rows of the weights, split over x as well, would be a little less to write,
// and hold the products that read them where they send more: they become whole
// along x as one, with these products.
// NARROW-LABEL: @narrow_vjp
// NARROW-NEXT: all_gather {"y"} : {{.*}} 192 bytes, 3 times
// NARROW-NEXT: reduce_scatter {"x"} : {{.*}} 128 bytes, 3 times
// NARROW-NEXT: reduce_scatter {"y"} : {{.*}} 192 bytes, 3 times
// NARROW: in all 2112 bytes
func.func @narrow(%x0: tensor<8x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {}]>},
                  %w: tensor<3x16x16xf32> {shoal.sharding = #shoal.sharding<@mesh, [{}, {}, {"y"}]>}) -> tensor<8x16xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %layers = arith.constant dense<3> : tensor<i32>
  %r:2 = shoal.while (%i = %zero, %x = %x0) : tensor<i32>, tensor<8x16xf32> cond {
    %more = arith.cmpi slt, %i, %layers : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %row = shoal.dynamic_slice %w[%i, %zero, %zero] sizes = [1, 16, 16] : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %v = shoal.reshape %row : tensor<1x16x16xf32> -> tensor<16x16xf32>
    %y = shoal.einsum "BA,AC->BC" %x, %v : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %s = shoal.sharding_constraint %y <@mesh, [{"x"}, {"y"}]> : tensor<8x16xf32>
    %z = math.tanh %s : tensor<8x16xf32>
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %next, %z : tensor<i32>, tensor<8x16xf32>
  }
  return %r#1 : tensor<8x16xf32>
}
