// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-combine-collectives

// expected-error @below {{the program has no shoal.mesh}}
module {
  func.func @no_mesh(%x: tensor<8xf32>) -> tensor<8xf32> attributes {shoal.spmd} {
    return %x : tensor<8xf32>
  }
}

// -----

// expected-note @below {{the first mesh is here}}
shoal.mesh @mesh = <["x" = 2]>
// expected-error @below {{mesh @other has other axes than mesh @mesh}}
shoal.mesh @other = <["x" = 4]>

func.func @two_meshes(%x: tensor<8xf32>) -> tensor<8xf32> attributes {shoal.spmd} {
  return %x : tensor<8xf32>
}
