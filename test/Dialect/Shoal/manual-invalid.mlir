// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of manual_computation, auto_to_manual, manual_to_auto, custom_call.

// expected-note@+1 {{the mesh is defined here}}
shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M1)
func.func @unknown_axis(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{manual axes: unknown axis "z" in mesh @mesh}}
  %0 = shoal.manual_computation @mesh {"z"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M2)
func.func @missing_sharding(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected 1 shardings of operands but got 0}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M3)
func.func @order(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{operand 0: dim 0: manual axis "x" stands behind another axis}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{"y", "x"}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<4x4xf32>):
    shoal.yield %a : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M3)
func.func @uneven(%x: tensor<7x4xf32>) {
  // expected-error@+1 {{argument 0: expected the shard's type 'tensor<4x4xf32>' but got 'tensor<3x4xf32>'}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{"x"}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<3x4xf32>):
    shoal.yield %a : tensor<3x4xf32>
  } : (tensor<7x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M3)
func.func @yielded_type(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{yielded value 0: expected the shard's type 'tensor<4x4xf32>' but got 'tensor<8x4xf32>'}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{"x"}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M4)
func.func @collective_over_other_axis(%x: tensor<8x4xf32>) {
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    // expected-error@+1 {{axis "y" is not manual: a collective here goes over manual axes}}
    %b = spmd.all_reduce sum @mesh {"y"} %a : tensor<8x4xf32>
    shoal.yield %b : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M4)
func.func @sharding_over_manual_axis(%x: tensor<8x4xf32>) {
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    // expected-error@+1 {{axis "x" is manual: shardings here name the other axes}}
    %b = shoal.sharding_constraint %a <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
    shoal.yield %b : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @unknown_mesh(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{unknown mesh @mesh}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M1)
func.func @axis_twice(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{manual axes: axis "x" is used twice}}
  %0 = shoal.manual_computation @mesh {"x", "x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M1)
func.func @sub_axis(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{manual axes: sub-axis (2)4 does not divide axis "y" of size 4}}
  %0 = shoal.manual_computation @mesh {"y":(2)4} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M3)
func.func @part_of_axis(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{operand 0: dim 0: a part of axis "y" is manual: expected it as parts}}
  %0 = shoal.manual_computation @mesh {"y":(1)2} (%x) in [#shoal.sharding<@mesh, [{"y"}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<4x4xf32>):
    shoal.yield %a : tensor<4x4xf32>
  } : (tensor<8x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M4)
func.func @collective_over_more_than_the_part(%x: tensor<8x4xf32>) {
  %0 = shoal.manual_computation @mesh {"y":(1)2} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    // expected-error@+1 {{axis "y" is not manual: a collective here goes over manual axes}}
    %b = spmd.all_reduce sum @mesh {"y"} %a : tensor<8x4xf32>
    shoal.yield %b : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M2)
func.func @results(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected 1 shardings of results but got 2}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>, #shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M2)
func.func @partial_over_an_axis_that_is_manual_in_part(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{operand 0: a part of axis "y" is manual: expected it as parts}}
  %0 = shoal.manual_computation @mesh {"y":(1)2} (%x) in [#shoal.sharding<@mesh, [{}, {}], partial = {"y"}>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M2)
func.func @rank(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{operand 0: }}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
shoal.mesh @turned = <["x" = 2, "y" = 4], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>
// (M2)
func.func @other_mesh(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{operand 0: expected a sharding over mesh @mesh}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@turned, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M3)
func.func @uneven_behind(%x: tensor<12x4xf32>) {
  // expected-error@+1 {{operand 0: dim 0: the shard of 6 rows over manual axes is not divisible by the 4 devices along the axes behind}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{"x", "y"}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<6x4xf32>):
    shoal.yield %a : tensor<6x4xf32>
  } : (tensor<12x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M3)
func.func @arguments(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected 1 arguments but got 2}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>):
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M3)
func.func @yielded(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected 1 yielded values but got 2}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    shoal.yield %a, %a : tensor<8x4xf32>, tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
shoal.mesh @turned = <["x" = 2, "y" = 4], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>
// (M4)
func.func @collective_over_other_mesh(%x: tensor<8x4xf32>) {
  // expected-note@+1 {{the manual_computation is here}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    // expected-error@+1 {{is over mesh @turned, the manual_computation around it over @mesh}}
    %b = spmd.all_reduce sum @turned {"x"} %a : tensor<8x4xf32>
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
shoal.mesh @turned = <["x" = 2, "y" = 4], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>
// (M4)
func.func @sharding_over_other_mesh(%x: tensor<8x4xf32>) {
  // expected-note@+1 {{the manual_computation is here}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    // expected-error@+1 {{is over mesh @turned, the manual_computation around it over @mesh}}
    %b = shoal.sharding_constraint %a <@turned, [{"y"}, {}]> : tensor<8x4xf32>
    shoal.yield %a : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M1)
func.func @nested_over_the_same_axis(%x: tensor<8x4xf32>) {
  // expected-note@+1 {{in this manual_computation, over {"x"}}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    %b = shoal.manual_computation @mesh {"y":(1)2} (%a) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
    ^bb0(%c: tensor<8x4xf32>):
      // expected-error@+1 {{manual axes: axis "x" is manual already around it}}
      %d = shoal.manual_computation @mesh {"y":(2)2, "x"} (%c) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
      ^bb0(%e: tensor<8x4xf32>):
        shoal.yield %e : tensor<8x4xf32>
      } : (tensor<8x4xf32>) -> tensor<8x4xf32>
      shoal.yield %d : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    shoal.yield %b : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
shoal.mesh @turned = <["x" = 2, "y" = 4], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>
// (M4)
func.func @nested_over_another_mesh(%x: tensor<8x4xf32>) {
  // expected-note@+1 {{the manual_computation is here}}
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    // expected-error@+1 {{is over mesh @turned, the manual_computation around it over @mesh}}
    %b = shoal.manual_computation @turned {"y"} (%a) in [#shoal.sharding<@turned, [{}, {}]>] out [#shoal.sharding<@turned, [{}, {}]>] {
    ^bb0(%c: tensor<8x4xf32>):
      shoal.yield %c : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    shoal.yield %b : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 4]>
// (M4)
func.func @edge_of_nested_over_outer_axis(%x: tensor<8x4xf32>) {
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    // expected-error@+1 {{axis "x" is manual: shardings here name the other axes}}
    %b = shoal.manual_computation @mesh {"y"} (%a) in [#shoal.sharding<@mesh, [{"x"}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
    ^bb0(%c: tensor<8x4xf32>):
      shoal.yield %c : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    shoal.yield %b : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 2, "z" = 2]>
// (M4)
func.func @collective_in_nested_over_other_axis(%x: tensor<8x4xf32>) {
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    %b = shoal.manual_computation @mesh {"y"} (%a) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
    ^bb0(%c: tensor<8x4xf32>):
      %d = spmd.all_reduce sum @mesh {"y", "x"} %c : tensor<8x4xf32>
      // expected-error@+1 {{axis "z" is not manual: a collective here goes over manual axes}}
      %e = spmd.all_reduce sum @mesh {"y", "z"} %d : tensor<8x4xf32>
      shoal.yield %e : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    shoal.yield %b : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2, "y" = 2, "z" = 2]>
// (M4)
func.func @sharding_in_nested_over_outer_axis(%x: tensor<8x4xf32>) {
  %0 = shoal.manual_computation @mesh {"x"} (%x) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
  ^bb0(%a: tensor<8x4xf32>):
    %b = shoal.manual_computation @mesh {"y"} (%a) in [#shoal.sharding<@mesh, [{}, {}]>] out [#shoal.sharding<@mesh, [{}, {}]>] {
    ^bb0(%c: tensor<8x4xf32>):
      %d = shoal.sharding_constraint %c <@mesh, [{"z"}, {}]> : tensor<8x4xf32>
      // expected-error@+1 {{axis "x" is manual: shardings here name the other axes}}
      %e = shoal.sharding_constraint %d <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
      shoal.yield %e : tensor<8x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    shoal.yield %b : tensor<8x4xf32>
  } : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>
// (A2)
func.func @cast_uneven(%x: tensor<7x4xf32>) {
  // expected-error@+1 {{expected the shard's type 'tensor<4x4xf32>' but got 'tensor<3x4xf32>'}}
  %0 = shoal.auto_to_manual %x <@mesh, [{"x"}, {}]> : tensor<7x4xf32> -> tensor<3x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>
// (A2)
func.func @cast_type(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected the shard's type 'tensor<4x4xf32>' but got 'tensor<8x4xf32>'}}
  %0 = shoal.auto_to_manual %x <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

shoal.mesh @mesh = <["x" = 2]>
// (A1)
func.func @cast_open(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected no partial axes and no open dimensions}}
  %0 = shoal.manual_to_auto %x <@mesh, [{?}, {}]> : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

// (K1)
func.func @rule_text(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{rule: expected letters and '.', ',' and one '->' but got "ij"}}
  %0 = shoal.custom_call "f"(%x) {rule = "ij"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (K1)
func.func @rule_parts(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{rule: expected 1 operands but got 2}}
  %0 = shoal.custom_call "f"(%x) {rule = "ij,ij->ij"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (K2)
func.func @rule_twice(%x: tensor<4x4xf32>) {
  // expected-error@+1 {{rule: letter 'i' occurs twice in operand 0}}
  %0 = shoal.custom_call "f"(%x) {rule = "ii->i."} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// (K3)
func.func @sums_without_rule(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{sums: expected a rule beside it}}
  %0 = shoal.custom_call "f"(%x) {sums = "i"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (K1)
func.func @rule_rank(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{rule: operand 0 has rank 2 but "i" has 1 letters}}
  %0 = shoal.custom_call "f"(%x) {rule = "i->ij"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (K2)
func.func @rule_sizes(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{result 0 dim 0: letter 'j' has size 8 here and 4 elsewhere}}
  %0 = shoal.custom_call "f"(%x) {rule = "ij->ji"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (K3)
func.func @rule_sums(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{sums: expected a letter of operands alone but got 'i'}}
  %0 = shoal.custom_call "f"(%x) {rule = "ij->ij", sums = "i"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (K6)
func.func @padded_without_rule(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{padded: expected a rule beside it}}
  %0 = shoal.custom_call "f"(%x) {padded = "i"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (K6)
func.func @padded_whole(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{padded: expected a letter of operands that is in results or in sums but got 'j'}}
  %0 = shoal.custom_call "f"(%x) {rule = "ij->i.", padded = "ij"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (K4)
func.func @identity_types(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{target "Sharding": expected results of the operands' types}}
  %0 = shoal.custom_call "Sharding"(%x) : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return
}

// -----

// (K1)
func.func @no_results(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{expected at least one result}}
  shoal.custom_call "f"(%x) : (tensor<8x4xf32>) -> ()
  return
}

// -----

// (K5)
func.func @target(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{target "a b": expected letters, digits, '_', '.' and '$'}}
  %0 = shoal.custom_call "a b"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (K5)
func.func @target_of_the_runtime(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{target "shoal_rt_copy": expected no function of the runtime}}
  %0 = shoal.custom_call "shoal_rt_copy"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// (K5)
func.func @config(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{config: expected no zero bytes}}
  %0 = shoal.custom_call "f"(%x) {config = "a\00b"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}
