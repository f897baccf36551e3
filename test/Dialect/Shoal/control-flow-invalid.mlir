// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// The laws of while, case and optimization_barrier.

// (W1)
func.func @while_results(%x: tensor<4xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{results: expected the types of the operands}}
  %0 = "shoal.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    shoal.yield %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<4xf32>):
    shoal.yield %a : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

// (W1)
func.func @while_arguments(%x: tensor<4xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{arguments of the body: expected the types of the operands}}
  %0 = "shoal.while"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    shoal.yield %p : tensor<i1>
  }, {
    shoal.yield %x : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// (W2)
func.func @while_condition(%x: tensor<4xf32>) {
  // expected-error@+1 {{condition: expected to yield a value 0 of type 'tensor<i1>' but got 'tensor<4xf32>'}}
  %0 = shoal.while (%a = %x) : tensor<4xf32> cond {
    // expected-note@+1 {{the yield is here}}
    shoal.yield %a : tensor<4xf32>
  } do {
    shoal.yield %a : tensor<4xf32>
  }
  return
}

// -----

// (W2)
func.func @while_condition_is_scalar(%x: tensor<4xf32>, %p: i1) {
  // expected-error@+1 {{condition: expected to yield a value 0 of type 'tensor<i1>' but got 'i1'}}
  %0 = shoal.while (%a = %x) : tensor<4xf32> cond {
    // expected-note@+1 {{the yield is here}}
    shoal.yield %p : i1
  } do {
    shoal.yield %a : tensor<4xf32>
  }
  return
}

// -----

// (W2)
func.func @while_body(%x: tensor<4xf32>, %p: tensor<i1>) {
  // expected-error@+1 {{body: expected to yield 1 values but got 2}}
  %0 = shoal.while (%a = %x) : tensor<4xf32> cond {
    shoal.yield %p : tensor<i1>
  } do {
    // expected-note@+1 {{the yield is here}}
    shoal.yield %a, %a : tensor<4xf32>, tensor<4xf32>
  }
  return
}

// -----

// (B1)
func.func @case_without_branch(%i: tensor<i32>) {
  // expected-error@+1 {{expected at least one branch}}
  "shoal.case"(%i) : (tensor<i32>) -> ()
  return
}

// -----

// (B1)
func.func @if_of_three(%p: tensor<i1>) {
  // expected-error@+1 {{expected 2 branches, for true and for false, but got 3}}
  shoal.case %p : (tensor<i1>) -> () {
    shoal.yield
  }, {
    shoal.yield
  }, {
    shoal.yield
  }
  return
}

// -----

// (B2)
func.func @case_yield(%i: tensor<i32>, %x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error@+1 {{branch 1: expected to yield a value 0 of type 'tensor<4xf32>' but got 'tensor<5xf32>'}}
  %0 = shoal.case %i : (tensor<i32>) -> tensor<4xf32> {
    shoal.yield %x : tensor<4xf32>
  }, {
    // expected-note@+1 {{the yield is here}}
    shoal.yield %y : tensor<5xf32>
  }
  return
}

// -----

// (B2)
func.func @case_arguments(%i: tensor<i32>, %x: tensor<4xf32>) {
  // expected-error@+1 {{branch 0: expected no arguments but got 1}}
  %0 = shoal.case %i : (tensor<i32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    shoal.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @case_index(%i: tensor<4xi32>, %x: tensor<4xf32>) {
  // expected-error@+1 {{operand #0 must be 0D tensor of 1-bit signless integer or 32-bit signless integer values}}
  %0 = shoal.case %i : (tensor<4xi32>) -> tensor<4xf32> {
    shoal.yield %x : tensor<4xf32>
  }
  return
}

// -----

// (O1)
func.func @barrier_of_nothing() {
  // expected-error@+1 {{expected at least one operand}}
  "shoal.optimization_barrier"() : () -> ()
  return
}

// -----

// (O1)
func.func @barrier_types(%x: tensor<4xf32>) {
  // expected-error@+1 {{results: expected the types of the operands}}
  %0 = "shoal.optimization_barrier"(%x) : (tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

// (K1)
func.func @boundary_types(%x: tensor<4xf32>) {
  // expected-error @below {{results: expected the types of the operands}}
  %0 = "shoal.remat_boundary"(%x) {region = 0 : i64} : (tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

// (K2)
func.func @boundary_policy(%x: tensor<4xf32>) {
  // expected-error @below {{policy: expected everything, nothing, dots, dots_no_batch, selective, offload or names:NAME,..., but got "some"}}
  %0 = shoal.remat_boundary %x {region = 0, policy = "some"} : tensor<4xf32>
  return
}

// -----

func.func @boundary_collectives(%x: tensor<4xf32>) {
  // expected-error @below {{collectives: expected save, params or repeat, but got "all"}}
  %0 = shoal.remat_boundary %x {region = 0, policy = "dots", collectives = "all"} : tensor<4xf32>
  return
}

// -----

func.func @boundary_collectives_alone(%x: tensor<4xf32>) {
  // expected-error @below {{collectives: expected a policy beside it}}
  %0 = shoal.remat_boundary %x {region = 0, collectives = "params"} : tensor<4xf32>
  return
}
