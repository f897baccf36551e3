// RUN: shoal-opt %s -split-input-file -verify-diagnostics

// print (P1)
func.func @p1_lonely_brace() {
  // expected-error @below {{format: a single '}'}}
  shoal.print "}"() : () -> ()
  return
}

// -----

// print (P1)
func.func @p1_name(%x: tensor<f32>) {
  // expected-error @below {{format field {x}: expected the number of an operand}}
  shoal.print "{x}"(%x) : (tensor<f32>) -> ()
  return
}

// -----

// print (P1)
func.func @p1_number(%x: tensor<f32>) {
  // expected-error @below {{format: field {1}, but there are 1 operands}}
  shoal.print "{1}"(%x) : (tensor<f32>) -> ()
  return
}

// -----

// print (P1)
func.func @p1_form(%x: tensor<f32>) {
  // expected-error @below {{format field {0:,}: expected [[fill]align][sign][0][width][.precision][type] with a type of d, b, o, x, X, e, E, f, F, g, G or %}}
  shoal.print "{0:,}"(%x) : (tensor<f32>) -> ()
  return
}

// -----

// print (P2)
func.func @p2_array(%x: tensor<4xf32>) {
  // expected-error @below {{format field {0}: only a scalar is written in a form of its own}}
  shoal.print "{0:.3f}"(%x) : (tensor<4xf32>) -> ()
  return
}

// -----

// print (P2)
func.func @p2_float_as_integer(%x: tensor<f32>) {
  // expected-error @below {{format field {0}: a float is not written as an integer}}
  shoal.print "{0:d}"(%x) : (tensor<f32>) -> ()
  return
}

// -----

// print (P3)
func.func @p3_float(%x: tensor<f32>) {
  // expected-error @below {{unsigned_inputs: expected numbers of the 1 operands, of integers, but got 0}}
  shoal.print "{0}"(%x) {unsigned_inputs = array<i64: 0>} : (tensor<f32>) -> ()
  return
}

// -----

// host_call (H1)
func.func @h1(%x: tensor<f32>) {
  // expected-error @below {{expected a number of at least 0 but got -1}}
  shoal.host_call -1 "f"(%x) : (tensor<f32>) -> ()
  return
}

// -----

// host_call (H2)
func.func @h2(%x: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{on_shards: expected no results but got 1}}
  %y = shoal.host_call 0 "f"(%x) {on_shards} : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// host_call (H3)
func.func @h3(%x: tensor<f32>) {
  // expected-error @below {{pure: expected results, for which the call is made}}
  shoal.host_call 0 "f"(%x) {pure} : (tensor<f32>) -> ()
  return
}
