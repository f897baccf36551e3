// RUN: shoal-opt %s --verify-diagnostics --shoal-verify-kernels

func.func @c4_a_sum_without_an_order(%a: f32, %b: f32) -> f32 {
  // expected-error @below {{'arith.addf' op may be reassociated: expected an order of its own}}
  %sum = arith.addf %a, %b fastmath<reassoc> : f32
  return %sum : f32
}
