// RUN: shoal-opt %s --split-input-file --verify-diagnostics

// (C1) of check
shoal.mesh @mesh = <["x" = 2]>
func.func @unknown_mesh(%y: tensor<4xf32>) {
  // expected-error @+1 {{the mesh @other is not declared}}
  rt.check 0 made "f" at "" <@other, [{}]> of [4] sources [] ins(%y : tensor<4xf32>) {nan}
  return
}

// -----

// (C1) of check
shoal.mesh @mesh = <["x" = 2]>
func.func @no_shard(%y: tensor<4xf32>) {
  // expected-error @+1 {{expected a shard, 'tensor<5xf32>', but got 'tensor<4xf32>'}}
  rt.check 0 made "f" at "" <@mesh, [{"x"}]> of [10] sources [] ins(%y : tensor<4xf32>) {nan}
  return
}

// -----

// (C1) of check
// expected-note @+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 2]>
func.func @unknown_axis(%y: tensor<4xf32>) {
  // expected-error @+1 {{"z"}}
  rt.check 0 made "f" at "" <@mesh, [{}]> of [4] varying {"z"} sources [] ins(%y : tensor<4xf32>) {nan}
  return
}

// -----

// (C2) of check
shoal.mesh @mesh = <["x" = 2]>
func.func @negative_source(%y: tensor<4xf32>) {
  // expected-error @+1 {{expected numbers of at least 0 but got -1}}
  rt.check 0 made "f" at "" <@mesh, [{"x"}]> of [8] sources [-1] ins(%y : tensor<4xf32>) {nan}
  return
}

// -----

// (C1) of iteration
func.func @negative_depth() {
  // expected-error @+1 {{expected a depth of at least 0 but got -1}}
  rt.iteration next -1 at ""
  return
}
