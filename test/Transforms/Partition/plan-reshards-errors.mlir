// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-plan-reshards

// expected-note @below {{the first mesh is here}}
shoal.mesh @mesh = <["x" = 2]>
// expected-error @below {{mesh @other has other axes than mesh @mesh}}
shoal.mesh @other = <["x" = 2, "y" = 2]>

func.func @two_meshes(%x: tensor<8xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = shoal.reshard %x <@mesh, [{"x"}]> -> <@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// An axis of 6 as 2 x 3 and as 3 x 2 has no common parts.
// expected-error @below {{axis "x": sub-axes end at 2 and at 3 of it; one program cannot use both, as neither divides the other}}
shoal.mesh @mesh = <["x" = 6]>

func.func @cuts_that_do_not_nest(%x: tensor<12xf32>, %y: tensor<12xf32>) -> (tensor<12xf32>, tensor<12xf32>) {
  %0 = shoal.reshard %x <@mesh, [{"x":(1)2}]> -> <@mesh, [{}]> : tensor<12xf32>
  %1 = shoal.reshard %y <@mesh, [{"x":(1)3}]> -> <@mesh, [{}]> : tensor<12xf32>
  return %0, %1 : tensor<12xf32>, tensor<12xf32>
}
