// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-assign="max-replicated-bytes=1024 allow-replicated=other"

shoal.mesh @mesh = <["x" = 4]>

#x_ = #shoal.sharding<@mesh, [{"x"}, {}]>

func.func @argument(%a: tensor<4096x64xf32> {shoal.sharding = #x_},
                    // expected-error @below {{argument 1 "w": would be gathered whole on every device: 16384 bytes are more than --max-replicated-bytes=1024, and no annotation asks for it}}
                    %w: tensor<64x64xf32> {shoal.sharding = #x_, shoal.name = "w"}) -> (tensor<4096x64xf32> {shoal.sharding = #x_}) {
  // expected-note @below {{it is needed whole for operand 1 of shoal.einsum "BK,KN->BN" at}}
  %0 = shoal.einsum "BK,KN->BN" %a, %w : (tensor<4096x64xf32>, tensor<64x64xf32>) -> tensor<4096x64xf32>
  return %0 : tensor<4096x64xf32>
}

// -----

shoal.mesh @mesh = <["x" = 4]>

#x_ = #shoal.sharding<@mesh, [{"x"}, {}]>

func.func @op(%a: tensor<4096x64xf32> {shoal.sharding = #x_}, %w: tensor<64x64xf32>) -> (tensor<4096x64xf32> {shoal.sharding = #x_}) {
  // expected-error @below {{shoal.sharding_constraint: would be gathered whole on every device: 16384 bytes}}
  %0 = shoal.sharding_constraint %w <@mesh, [{"x"}, {}]> : tensor<64x64xf32>
  // expected-note @below {{it is needed whole for operand 1 of shoal.einsum}}
  %1 = shoal.einsum "BK,KN->BN" %a, %0 : (tensor<4096x64xf32>, tensor<64x64xf32>) -> tensor<4096x64xf32>
  return %1 : tensor<4096x64xf32>
}
