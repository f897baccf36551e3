// RUN: shoal-opt %s --split-input-file --shoal-unify-meshes -verify-diagnostics

// expected-note@+1 {{the first mesh is here}}
shoal.mesh @a = <["x" = 8]>
// expected-error@+1 {{mesh @b has 4 devices but mesh @a has 8}}
shoal.mesh @b = <["y" = 4]>

// -----

// expected-note@+1 {{the first mesh is here}}
shoal.mesh @a = <["x" = 3, "y" = 2]>
// expected-error@+1 {{mesh @b: axis "z" of size 2 is no product of (sub-)axes of mesh @a}}
shoal.mesh @b = <["z" = 2, "w" = 3]>

// -----

// expected-note@+1 {{the first mesh is here}}
shoal.mesh @a = <["x" = 3, "y" = 2]>
shoal.mesh @b = <["z" = 6]>

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{axis "z":(1)2 of mesh @b is no product of (sub-)axes of mesh @a}}
  %a = shoal.sharding_constraint %x <@b, [{"z":(1)2}]> : tensor<8xf32>
  return %a : tensor<8xf32>
}
