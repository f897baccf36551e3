// RUN: shoal-run %s --print | FileCheck %s
// RUN: shoal-run %s --entry=square --random-inputs=1 | FileCheck %s --check-prefix=SQUARE
// RUN: cat %s | shoal-run --print | FileCheck %s

// Private functions are called; the entry is the public one unless named.
// SQUARE: result0: tensor<i32> =
func.func private @square(%x: tensor<i32>) -> tensor<i32> {
  %y = arith.muli %x, %x : tensor<i32>
  return %y : tensor<i32>
}

// CHECK: result0: tensor<i32> = 90
// CHECK: three: tensor<i32> = 3
func.func @twice() -> (tensor<i32>, tensor<i32> {shoal.name = "three"}) {
  %three = arith.constant dense<3> : tensor<i32>
  %nine = call @square(%three) : (tensor<i32>) -> tensor<i32>
  %more = call @square(%nine) : (tensor<i32>) -> tensor<i32>
  %ninety = arith.addi %nine, %more : tensor<i32>
  return %ninety, %three : tensor<i32>, tensor<i32>
}
