// What is gathered whole because an annotation asks for it, or because it is
// allowed by name, by attribute or by size.
//
// RUN: shoal-opt %s --shoal-assign="max-replicated-bytes=1024 allow-replicated=named,arg1" | FileCheck %s
// RUN: shoal-opt %s --shoal-assign="max-replicated-bytes=-1" | FileCheck %s
// RUN: shoal-opt %s --shoal-assign | FileCheck %s

shoal.mesh @mesh = <["x" = 4]>

#x_ = #shoal.sharding<@mesh, [{"x"}, {}]>
#__ = #shoal.sharding<@mesh, [{}, {}]>

// CHECK-LABEL: @annotated
// CHECK: shoal.reshard %arg0
// CHECK: shoal.reshard %arg1
func.func @annotated(%a: tensor<32x32xf32> {shoal.sharding = #x_}, %b: tensor<32x32xf32> {shoal.sharding = #x_})
    -> (tensor<32x32xf32> {shoal.sharding = #__}, tensor<32x32xf32> {shoal.sharding = #__}) {
  %0 = shoal.sharding_constraint %a <@mesh, [{}, {}]> : tensor<32x32xf32>
  return %0, %b : tensor<32x32xf32>, tensor<32x32xf32>
}

// Rows of the batch stay where they are; the weights, which are smaller, come
// to every device.
// CHECK-LABEL: @named
// CHECK: shoal.reshard %arg1
func.func @named(%a: tensor<4096x64xf32> {shoal.sharding = #x_}, %w: tensor<64x64xf32> {shoal.sharding = #x_, shoal.name = "named"}) -> (tensor<4096x64xf32> {shoal.sharding = #x_}) {
  %0 = shoal.einsum "BK,KN->BN" %a, %w : (tensor<4096x64xf32>, tensor<64x64xf32>) -> tensor<4096x64xf32>
  return %0 : tensor<4096x64xf32>
}

// CHECK-LABEL: @named_by_number
// CHECK: shoal.reshard %arg1
func.func @named_by_number(%a: tensor<4096x64xf32> {shoal.sharding = #x_}, %w: tensor<64x64xf32> {shoal.sharding = #x_}) -> (tensor<4096x64xf32> {shoal.sharding = #x_}) {
  %0 = shoal.einsum "BK,KN->BN" %a, %w : (tensor<4096x64xf32>, tensor<64x64xf32>) -> tensor<4096x64xf32>
  return %0 : tensor<4096x64xf32>
}

// CHECK-LABEL: @allowed_by_attribute
// CHECK: %[[W:.*]] = shoal.sharding_constraint
// CHECK: shoal.reshard %[[W]]
func.func @allowed_by_attribute(%a: tensor<4096x64xf32> {shoal.sharding = #x_}, %w: tensor<64x64xf32> {shoal.sharding = #x_}) -> (tensor<4096x64xf32> {shoal.sharding = #x_}) {
  %v = math.exp %w {shoal.allow_replicated} : tensor<64x64xf32>
  %v2 = shoal.sharding_constraint %v <@mesh, [{"x"}, {}]> {shoal.allow_replicated} : tensor<64x64xf32>
  %0 = shoal.einsum "BK,KN->BN" %a, %v2 : (tensor<4096x64xf32>, tensor<64x64xf32>) -> tensor<4096x64xf32>
  return %0 : tensor<4096x64xf32>
}

// CHECK-LABEL: @small
// CHECK: shoal.reshard %arg1
func.func @small(%a: tensor<4096x16xf32> {shoal.sharding = #x_}, %w: tensor<16x16xf32> {shoal.sharding = #x_, shoal.name = "other"}) -> (tensor<4096x16xf32> {shoal.sharding = #x_}) {
  %0 = shoal.einsum "BK,KN->BN" %a, %w : (tensor<4096x16xf32>, tensor<16x16xf32>) -> tensor<4096x16xf32>
  return %0 : tensor<4096x16xf32>
}
