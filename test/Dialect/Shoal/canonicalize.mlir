// RUN: shoal-opt %s --canonicalize | FileCheck %s

// What changes nothing goes away.
// CHECK-LABEL: func @identities(
// CHECK-SAME: %[[X:.*]]: tensor<3x4xf32>, %[[ZERO:.*]]: tensor<f32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
shoal.mesh @mesh = <["x" = 2]>
func.func @identities(%x: tensor<3x4xf32>, %zero: tensor<f32>)
    -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>,
        tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = shoal.transpose %x permutation = [0, 1] : tensor<3x4xf32> -> tensor<3x4xf32>
  %1 = shoal.reshape %x : tensor<3x4xf32> -> tensor<3x4xf32>
  %2 = shoal.broadcast_in_dim %x dims = [0, 1] : tensor<3x4xf32> -> tensor<3x4xf32>
  %3 = shoal.slice %x starts = [0, 0] limits = [3, 4] strides = [1, 1] : tensor<3x4xf32> -> tensor<3x4xf32>
  %4 = shoal.pad %x, %zero low = [0, 0] high = [0, 0] interior = [0, 0] : tensor<3x4xf32>, tensor<f32> -> tensor<3x4xf32>
  %5 = shoal.concatenate %x dim = 1 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %6 = shoal.reduce max %x dims = [] : tensor<3x4xf32> -> tensor<3x4xf32>
  %7 = shoal.einsum "ab->ab" %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %8 = shoal.reshard %x <@mesh, [{"x"}, {}]> -> <@mesh, [{"x"}, {}]> : tensor<3x4xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8
    : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>,
      tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}

// A square broadcast that swaps dimensions is no identity.
// CHECK-LABEL: func @near_identities_stay(
// CHECK: shoal.broadcast_in_dim %{{.*}} dims = [1, 0]
// CHECK: shoal.einsum "ab->ab" {{.*}} -> tensor<3x3xf64>
// CHECK: shoal.einsum "aa->a"
// CHECK: shoal.reshard
func.func @near_identities_stay(%x: tensor<3x3xf32>)
    -> (tensor<3x3xf32>, tensor<3x3xf64>, tensor<3xf32>, tensor<3x3xf32>) {
  %0 = shoal.broadcast_in_dim %x dims = [1, 0] : tensor<3x3xf32> -> tensor<3x3xf32>
  %1 = shoal.einsum "ab->ab" %x : (tensor<3x3xf32>) -> tensor<3x3xf64>
  %2 = shoal.einsum "aa->a" %x : (tensor<3x3xf32>) -> tensor<3xf32>
  %3 = shoal.reshard %x <@mesh, [{"x"}, {}]> -> <@mesh, [{}, {"x"}]> : tensor<3x3xf32>
  return %0, %1, %2, %3 : tensor<3x3xf32>, tensor<3x3xf64>, tensor<3xf32>, tensor<3x3xf32>
}

// CHECK-LABEL: func @transposes_compose(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[T:.*]] = shoal.transpose %[[X]] permutation = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
// CHECK-NEXT: return %[[T]], %[[X]]
func.func @transposes_compose(%x: tensor<2x3x4xf32>) -> (tensor<4x2x3xf32>, tensor<2x3x4xf32>) {
  %0 = shoal.transpose %x permutation = [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = shoal.transpose %0 permutation = [1, 2, 0] : tensor<3x4x2xf32> -> tensor<4x2x3xf32>
  %2 = shoal.transpose %0 permutation = [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  return %1, %2 : tensor<4x2x3xf32>, tensor<2x3x4xf32>
}

// A broadcast that adds dimensions of one row, and no more, is a reshape.
// CHECK-LABEL: func @reshapes_of_broadcasts(
// CHECK-SAME: %[[X:.*]]: tensor<1x4xf32>
// CHECK: shoal.broadcast_in_dim %[[X]] dims = [1, 0]
// CHECK: return %[[X]], %
func.func @reshapes_of_broadcasts(%x: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %0 = shoal.broadcast_in_dim %x dims = [0, 2] : tensor<1x4xf32> -> tensor<1x1x4xf32>
  %1 = shoal.reshape %0 : tensor<1x1x4xf32> -> tensor<1x4xf32>
  %2 = shoal.broadcast_in_dim %x dims = [1, 0] : tensor<1x4xf32> -> tensor<4x1xf32>
  %3 = shoal.reshape %2 : tensor<4x1xf32> -> tensor<1x4xf32>
  return %1, %3 : tensor<1x4xf32>, tensor<1x4xf32>
}

// CHECK-LABEL: func @reshapes_compose(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
// CHECK-NEXT: %[[R:.*]] = shoal.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<24xf32>
// CHECK-NEXT: return %[[R]], %[[X]]
func.func @reshapes_compose(%x: tensor<2x3x4xf32>) -> (tensor<24xf32>, tensor<2x3x4xf32>) {
  %0 = shoal.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %1 = shoal.reshape %0 : tensor<6x4xf32> -> tensor<24xf32>
  %2 = shoal.reshape %0 : tensor<6x4xf32> -> tensor<2x3x4xf32>
  return %1, %2 : tensor<24xf32>, tensor<2x3x4xf32>
}

// CHECK-LABEL: func @einsum_of_one_operand_that_only_orders_is_a_transpose(
// CHECK-SAME: %[[X:.*]]: tensor<2x3x4xf32>
// CHECK-NEXT: shoal.transpose %[[X]] permutation = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
func.func @einsum_of_one_operand_that_only_orders_is_a_transpose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = shoal.einsum "abc->cab" %x : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}

// A weight that is transposed for the product and for its gradient.
// CHECK-LABEL: func @einsums_read_what_was_transposed(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>, %[[W:.*]]: tensor<4x3xf32>
// CHECK-NOT: transpose
// CHECK: %[[Y:.*]] = shoal.einsum "bi,oi->bo" %[[X]], %[[W]]
// CHECK: shoal.einsum "bo,oi->bi" %[[Y]], %[[W]]
func.func @einsums_read_what_was_transposed(%x: tensor<2x3xf32>, %w: tensor<4x3xf32>) -> tensor<2x3xf32> {
  %0 = shoal.transpose %w permutation = [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  %1 = shoal.einsum "bi,io->bo" %x, %0 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %2 = shoal.einsum "bo,io->bi" %1, %0 : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// CHECK-LABEL: func @constants_fold(
// CHECK-DAG: %[[SPLAT:.*]] = arith.constant dense<7> : tensor<6xi32>
// CHECK-DAG: %[[LIST:.*]] = arith.constant dense<{{\[\[}}1, 2], [3, 4{{\]\]}}> : tensor<2x2xi32>
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : tensor<3x1xf32>
// CHECK: return %[[SPLAT]], %[[LIST]], %[[ZEROS]]
func.func @constants_fold() -> (tensor<6xi32>, tensor<2x2xi32>, tensor<3x1xf32>) {
  %seven = arith.constant dense<7> : tensor<2xi32>
  %0 = shoal.broadcast_in_dim %seven dims = [1] : tensor<2xi32> -> tensor<5x2xi32>
  %1 = shoal.transpose %0 permutation = [1, 0] : tensor<5x2xi32> -> tensor<2x5xi32>
  %2 = shoal.slice %1 starts = [0, 1] limits = [2, 4] strides = [1, 1] : tensor<2x5xi32> -> tensor<2x3xi32>
  %3 = shoal.reshape %2 : tensor<2x3xi32> -> tensor<6xi32>
  %list = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %4 = shoal.reshape %list : tensor<4xi32> -> tensor<2x2xi32>
  %5 = shoal.iota dim = 1 : tensor<3x1xf32>
  return %3, %4, %5 : tensor<6xi32>, tensor<2x2xi32>, tensor<3x1xf32>
}

// Of what is transposed for an einsum, or behind it, nothing is moved.
// CHECK-LABEL: func @einsums_read_and_write_in_any_order(
// CHECK-NEXT: %[[E:.*]] = shoal.einsum "acb,abd->dac" %arg0, %arg1 : (tensor<2x4x3xf32>, tensor<2x3x5xf32>) -> tensor<5x2x4xf32>
// CHECK-NEXT: return %[[E]]
func.func @einsums_read_and_write_in_any_order(%x: tensor<2x4x3xf32>, %y: tensor<2x3x5xf32>) -> tensor<5x2x4xf32> {
  %t = shoal.transpose %x permutation = [2, 0, 1] : tensor<2x4x3xf32> -> tensor<3x2x4xf32>
  %e = shoal.einsum "bac,abd->acd" %t, %y : (tensor<3x2x4xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
  %r = shoal.transpose %e permutation = [2, 0, 1] : tensor<2x4x5xf32> -> tensor<5x2x4xf32>
  return %r : tensor<5x2x4xf32>
}

// What others use, too, has to be there anyway.
// CHECK-LABEL: func @transposes_with_other_users_stay(
// CHECK: shoal.transpose
// CHECK: shoal.einsum "ab,bc->ac"
// CHECK: shoal.transpose
func.func @transposes_with_other_users_stay(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) -> (tensor<3x2xf32>, tensor<3x4xf32>, tensor<4x3xf32>) {
  %t = shoal.transpose %x permutation = [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %e = shoal.einsum "ab,bc->ac" %t, %y : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
  %r = shoal.transpose %e permutation = [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
  return %t, %e, %r : tensor<3x2xf32>, tensor<3x4xf32>, tensor<4x3xf32>
}

// A number has no letters.
// CHECK-LABEL: func @einsums_with_numbers(
// CHECK-NEXT: %[[E:.*]] = shoal.einsum ",ab->ab" %arg1, %arg0 : (tensor<i32>, tensor<2x1xi32>) -> tensor<2x1xi32>
// CHECK-NEXT: return %[[E]]
func.func @einsums_with_numbers(%x: tensor<2x1xi32>, %n: tensor<i32>) -> tensor<2x1xi32> {
  %e = shoal.einsum ",ab->ba" %n, %x : (tensor<i32>, tensor<2x1xi32>) -> tensor<1x2xi32>
  %t = shoal.transpose %e permutation = [1, 0] : tensor<1x2xi32> -> tensor<2x1xi32>
  return %t : tensor<2x1xi32>
}

// What every trip yields as it came is not carried, whichever region or inner
// loop reads it; what trips exchange is.
// CHECK-LABEL: func @loops_carry_what_changes(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[W:[^:]*]]: tensor<4xf32>, %[[N:[^:]*]]: tensor<i32>
// CHECK: %[[R:.*]]:4 = shoal.while (%[[I:.*]] = %{{.*}}, %[[A:.*]] = %[[X]], %[[P:.*]] = %[[X]], %[[Q:.*]] = %[[W]])
// CHECK: arith.cmpi slt, %[[I]], %[[N]]
// CHECK: %[[S:.*]]:2 = shoal.while (%{{.*}} = %{{.*}}, %[[B:.*]] = %[[A]])
// CHECK: arith.cmpi slt, %{{.*}}, %[[N]]
// CHECK: arith.mulf %[[B]], %[[W]]
// CHECK: shoal.yield %{{.*}}, %[[S]]#1, %[[Q]], %[[P]] :
// CHECK: return %[[R]]#1, %[[W]], %[[R]]#2, %[[R]]#3
func.func @loops_carry_what_changes(%x: tensor<4xf32>, %w: tensor<4xf32>, %n: tensor<i32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %zero = arith.constant dense<0> : tensor<i32>
  %one = arith.constant dense<1> : tensor<i32>
  %r:6 = shoal.while (%m = %n, %i = %zero, %a = %x, %v = %w, %p = %x, %q = %w)
      : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32> cond {
    %more = arith.cmpi slt, %i, %m : tensor<i32>
    shoal.yield %more : tensor<i1>
  } do {
    %s:4 = shoal.while (%k = %m, %j = %zero, %b = %a, %u = %v)
        : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32> cond {
      %more = arith.cmpi slt, %j, %k : tensor<i32>
      shoal.yield %more : tensor<i1>
    } do {
      %next = arith.addi %j, %one : tensor<i32>
      %c = arith.mulf %b, %u : tensor<4xf32>
      shoal.yield %k, %next, %c, %u : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>
    }
    %next = arith.addi %i, %one : tensor<i32>
    shoal.yield %s#0, %next, %s#2, %s#3, %q, %p
      : tensor<i32>, tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#2, %r#3, %r#4, %r#5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What a pass has said of each result stays true.
// CHECK-LABEL: func @loops_with_attributes_stay(
// CHECK: shoal.while (%{{.*}} = %arg0) : tensor<4xf32> attributes {note = "one"}
func.func @loops_with_attributes_stay(%x: tensor<4xf32>, %more: tensor<i1>) -> tensor<4xf32> {
  %r = shoal.while (%a = %x) : tensor<4xf32> attributes {note = "one"} cond {
    shoal.yield %more : tensor<i1>
  } do {
    shoal.yield %a : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}
