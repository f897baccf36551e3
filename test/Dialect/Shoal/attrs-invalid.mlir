// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of meshes (M), axes (X) and shardings (S), and those of function
// attributes.

// (M1)
// expected-error@+1 {{mesh axis "x" is defined twice}}
shoal.mesh @mesh = <["x" = 2, "x" = 2]>

// -----

// (M1)
// expected-error@+1 {{mesh axis has an empty name}}
shoal.mesh @mesh = <["" = 2]>

// -----

// (M1)
// expected-error@+1 {{mesh axis "x": expected a size of at least 1 but got 0}}
shoal.mesh @mesh = <["x" = 0]>

// -----

// (M1)
// expected-error@+1 {{mesh axis "x": expected a size of at least 1 but got -4}}
shoal.mesh @mesh = <["x" = -4]>

// -----

// expected-error@+1 {{mesh has more than 2^31 devices}}
shoal.mesh @mesh = <["x" = 4611686018427387904, "y" = 4611686018427387904]>

// -----

// (M2)
// expected-error@+1 {{device_ids: expected 4 devices but got 3}}
shoal.mesh @mesh = <["x" = 4], device_ids = [0, 1, 2]>

// -----

// (M2)
// expected-error@+1 {{device_ids: device 4 is not in 0 to 3}}
shoal.mesh @mesh = <["x" = 4], device_ids = [0, 1, 2, 4]>

// -----

// (M2)
// expected-error@+1 {{device_ids: device -1 is not in 0 to 3}}
shoal.mesh @mesh = <["x" = 4], device_ids = [0, 1, 2, -1]>

// -----

// (M2)
// expected-error@+1 {{device_ids: device 1 occurs twice}}
shoal.mesh @mesh = <["x" = 4], device_ids = [0, 1, 2, 1]>

// -----

// (X1)
func.func private @sub_axis_of_size_one(tensor<4xf32>
  // expected-error@+1 {{sub-axis of "x": expected a size of at least 2 behind a major part of at least 1 and a product of at most 2^31 but got (2)1}}
  {shoal.sharding = #shoal.sharding<@mesh, [{"x":(2)1}]>})

// -----

// (X1)
func.func private @sub_axis_with_overflow(tensor<4xf32>
  // expected-error@+1 {{sub-axis of "x": expected a size of at least 2}}
  {shoal.sharding = #shoal.sharding<@mesh, [{"x":(9223372036854775807)2}]>})

// -----

// (X1)
func.func private @axis_without_name(tensor<4xf32>
  // expected-error@+1 {{axis has an empty name}}
  {shoal.sharding = #shoal.sharding<@mesh, [{""}]>})

// -----

func.func private @priority(tensor<4xf32>
  // expected-error@+1 {{expected a priority such as p1 behind the axes}}
  {shoal.sharding = #shoal.sharding<@mesh, [{"x"}q1]>})

// -----

// (S1)
// expected-error@+1 {{argument 0: unknown mesh @nowhere}}
func.func private @unknown_mesh(tensor<4xf32> {shoal.sharding = #shoal.sharding<@nowhere, [{"x"}]>})

// -----

// (S1): a symbol that is no mesh.
func.func private @other()
// expected-error@+1 {{argument 0: unknown mesh @other}}
func.func private @mesh_is_a_function(tensor<4xf32> {shoal.sharding = #shoal.sharding<@other, [{"x"}]>})

// -----

// (S1)
// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 4]>
// expected-error@+1 {{argument 0: dim 0: unknown axis "y" in mesh @mesh}}
func.func private @unknown_axis(tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"y"}]>})

// -----

// (S2)
shoal.mesh @mesh = <["x" = 12]>
// expected-error@+1 {{argument 0: dim 0: sub-axis (2)4 does not divide axis "x" of size 12}}
func.func private @sub_axis_does_not_divide(tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x":(2)4}]>})

// -----

// (S2)
shoal.mesh @mesh = <["x" = 4]>
// expected-error@+1 {{argument 0: dim 1: axis "x" is used twice}}
func.func private @axis_twice(tensor<4x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}, {"x"}]>})

// -----

// (S2): also an axis of one device.
shoal.mesh @mesh = <["x" = 1]>
// expected-error@+1 {{argument 0: dim 0: axis "x" is used twice}}
func.func private @axis_of_size_one_twice(tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x", "x"}]>})

// -----

// (S2)
shoal.mesh @mesh = <["x" = 16]>
// expected-error@+1 {{argument 0: dim 1: axis "x" is used twice}}
func.func private @sub_axes_overlap(tensor<4x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x":(2)4}, {"x":(4)4}]>})

// -----

// (S2): replicated axes count as well.
shoal.mesh @mesh = <["x" = 4]>
// expected-error@+1 {{argument 0: axis "x" is used twice}}
func.func private @split_and_replicated(tensor<4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}], replicated = {"x"}>})

// -----

// (S3)
shoal.mesh @mesh = <["x" = 4]>
// expected-error@+1 {{result 0: sharding has 1 dimensions but the tensor has 2}}
func.func private @rank() -> (tensor<4x4xf32> {shoal.sharding = #shoal.sharding<@mesh, [{"x"}]>})

// -----

shoal.mesh @mesh = <["x" = 4]>
// expected-error@+1 {{argument 0: expected a ranked tensor but got 'i32'}}
func.func private @not_a_tensor(i32 {shoal.sharding = #shoal.sharding<@mesh, []>})

// -----

// expected-error@+1 {{argument 0: expected shoal.name to be a string}}
func.func private @name_is_a_number(tensor<4xf32> {shoal.name = 1})

// -----

// expected-error@+1 {{argument 0: shoal.name "": expected a name that is not empty and has no '=', '/' or white space}}
func.func private @empty_name(tensor<4xf32> {shoal.name = ""})

// -----

// expected-error@+1 {{result 0: shoal.name "../y": expected a name that is not empty and has no '=', '/' or white space}}
func.func private @name_is_a_path() -> (tensor<4xf32> {shoal.name = "../y"})

// -----

// expected-error@+1 {{argument 2: shoal.name "x" is that of argument 0 too}}
func.func private @name_twice(tensor<4xf32> {shoal.name = "x"}, tensor<4xf32>, tensor<4xf32> {shoal.name = "x"})

// -----

// expected-error@+1 {{argument 0: expected shoal.sharding to be a #shoal.sharding}}
func.func private @sharding_is_a_string(tensor<4xf32> {shoal.sharding = "x"})

// -----

// expected-error@+1 {{argument 0: expected shoal.unsigned to be a unit attribute, on integers}}
func.func private @unsigned_floats(tensor<4xf32> {shoal.unsigned})

// -----

// expected-error@+1 {{argument 0: expected shoal.codes to name a type of 8 bits or fewer that programs have no elements of, on i8, but it is "i4" on 'tensor<4xi16>'}}
func.func private @codes_of_two_bytes(tensor<4xi16> {shoal.codes = "i4"})

// -----

// expected-error@+1 {{result 0: expected shoal.codes to name a type of 8 bits or fewer that programs have no elements of, on i8, but it is "f32" on 'tensor<4xi8>'}}
func.func private @codes_of_a_type_of_programs() -> (tensor<4xi8> {shoal.codes = "f32"})

// -----

// expected-error@+1 {{argument 0: expected shoal.codes to name a type of 8 bits or fewer that programs have no elements of, on i8, but it is unit on 'tensor<4xi8>'}}
func.func private @codes_of_nothing(tensor<4xi8> {shoal.codes})

// -----

// expected-error@+1 {{argument 0: expected shoal.complex to be a unit attribute, on f32 or f64 with a last dimension of 2, but it is on 'tensor<2x4xf32>'}}
func.func private @complex_without_halves(tensor<2x4xf32> {shoal.complex})

// -----

// expected-error@+1 {{result 0: expected shoal.complex to be a unit attribute, on f32 or f64 with a last dimension of 2, but it is on 'tensor<4x2xi32>'}}
func.func private @complex_integers() -> (tensor<4x2xi32> {shoal.complex})

// -----

shoal.mesh @pair = <["x" = 2]>

// expected-error@+1 {{argument 0: the halves of complex numbers, dim 1, are split by #shoal.sharding<@pair, [{}, {"x"}]>}}
func.func private @half_a_number(tensor<4x2xf32> {shoal.complex, shoal.sharding = #shoal.sharding<@pair, [{}, {"x"}]>})

// -----

// expected-error@+1 {{argument 0: unknown attribute "shoal.shading"}}
func.func private @misspelt(tensor<4xf32> {shoal.shading = "x"})

// -----

// expected-error@+1 {{argument 0: expected shoal.written to be a string}}
func.func @written(%x: tensor<8xf32> {shoal.written = 3 : i32}) {
  return
}

// -----

func.func @one_sharding_per_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{expected shoal.shardings to list one sharding per result}}
  %0 = math.exp %x {shoal.shardings = []} : tensor<4xf32>
  return
}

// -----

func.func @shardings_are_shardings(%x: tensor<4xf32>) {
  // expected-error@+1 {{result 0: expected a #shoal.sharding}}
  %0 = math.exp %x {shoal.shardings = [4]} : tensor<4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 4]>
func.func @shardings_fit_the_result(%x: tensor<4xf32>) {
  // expected-error@+1 {{result 0: sharding has 2 dimensions but the tensor has 1}}
  %0 = math.exp %x {shoal.shardings = [#shoal.sharding<@mesh, [{"x"}, {}]>]} : tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{argument 0: shoal.donated is a unit attribute of arguments}}
func.func @a_donation_of_a_number(%x: tensor<8xf32> {shoal.donated = 1 : i64}) {
  return
}

// -----

// expected-error@+1 {{result 0: shoal.donated is a unit attribute of arguments}}
func.func @a_donated_result(%x: tensor<8xf32>) -> (tensor<8xf32> {shoal.donated}) {
  return %x : tensor<8xf32>
}
