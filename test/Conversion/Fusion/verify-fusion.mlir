// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-verify-fusion

#id = affine_map<(d0) -> (d0)>

func.func @c1_a_read_in_a_branch(%x: tensor<4xf32>, %c: tensor<4xi1>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%c : tensor<4xi1>) outs(%0 : tensor<4xf32>) {
  ^bb0(%is: i1, %out: f32):
    %i = linalg.index 0 : index
    %2 = scf.if %is -> f32 {
      // expected-error @below {{'tensor.extract' op stands inside of another op than the linalg.generic that it reads for}}
      %3 = tensor.extract %x[%i] : tensor<4xf32>
      scf.yield %3 : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
