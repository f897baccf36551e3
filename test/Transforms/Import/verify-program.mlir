// RUN: shoal-opt %s --shoal-verify-program --split-input-file --verify-diagnostics
// RUN: not shoalc %s --emit=spmd -o - 2>&1 | FileCheck %s

// CHECK: error: 'func.call' op makes @loop call itself

func.func private @loop(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-note@+1 {{by way of this call}}
  %y = func.call @back(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func private @back(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{'func.call' op makes @loop call itself: calls are inlined, and this has no end}}
  %y = func.call @loop(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @recursion(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = func.call @loop(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Each level calls the one below 32 times: 3 * 32^4 ops and more.

func.func private @f0(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = arith.addf %x, %x : tensor<8xf32>
  %z = arith.mulf %y, %x : tensor<8xf32>
  return %z : tensor<8xf32>
}
func.func private @f1(%x0: tensor<8xf32>) -> tensor<8xf32> {
  %x1 = func.call @f0(%x0) : (tensor<8xf32>) -> tensor<8xf32>
  %x2 = func.call @f0(%x1) : (tensor<8xf32>) -> tensor<8xf32>
  %x3 = func.call @f0(%x2) : (tensor<8xf32>) -> tensor<8xf32>
  %x4 = func.call @f0(%x3) : (tensor<8xf32>) -> tensor<8xf32>
  %x5 = func.call @f0(%x4) : (tensor<8xf32>) -> tensor<8xf32>
  %x6 = func.call @f0(%x5) : (tensor<8xf32>) -> tensor<8xf32>
  %x7 = func.call @f0(%x6) : (tensor<8xf32>) -> tensor<8xf32>
  %x8 = func.call @f0(%x7) : (tensor<8xf32>) -> tensor<8xf32>
  %x9 = func.call @f0(%x8) : (tensor<8xf32>) -> tensor<8xf32>
  %x10 = func.call @f0(%x9) : (tensor<8xf32>) -> tensor<8xf32>
  %x11 = func.call @f0(%x10) : (tensor<8xf32>) -> tensor<8xf32>
  %x12 = func.call @f0(%x11) : (tensor<8xf32>) -> tensor<8xf32>
  %x13 = func.call @f0(%x12) : (tensor<8xf32>) -> tensor<8xf32>
  %x14 = func.call @f0(%x13) : (tensor<8xf32>) -> tensor<8xf32>
  %x15 = func.call @f0(%x14) : (tensor<8xf32>) -> tensor<8xf32>
  %x16 = func.call @f0(%x15) : (tensor<8xf32>) -> tensor<8xf32>
  %x17 = func.call @f0(%x16) : (tensor<8xf32>) -> tensor<8xf32>
  %x18 = func.call @f0(%x17) : (tensor<8xf32>) -> tensor<8xf32>
  %x19 = func.call @f0(%x18) : (tensor<8xf32>) -> tensor<8xf32>
  %x20 = func.call @f0(%x19) : (tensor<8xf32>) -> tensor<8xf32>
  %x21 = func.call @f0(%x20) : (tensor<8xf32>) -> tensor<8xf32>
  %x22 = func.call @f0(%x21) : (tensor<8xf32>) -> tensor<8xf32>
  %x23 = func.call @f0(%x22) : (tensor<8xf32>) -> tensor<8xf32>
  %x24 = func.call @f0(%x23) : (tensor<8xf32>) -> tensor<8xf32>
  %x25 = func.call @f0(%x24) : (tensor<8xf32>) -> tensor<8xf32>
  %x26 = func.call @f0(%x25) : (tensor<8xf32>) -> tensor<8xf32>
  %x27 = func.call @f0(%x26) : (tensor<8xf32>) -> tensor<8xf32>
  %x28 = func.call @f0(%x27) : (tensor<8xf32>) -> tensor<8xf32>
  %x29 = func.call @f0(%x28) : (tensor<8xf32>) -> tensor<8xf32>
  %x30 = func.call @f0(%x29) : (tensor<8xf32>) -> tensor<8xf32>
  %x31 = func.call @f0(%x30) : (tensor<8xf32>) -> tensor<8xf32>
  %x32 = func.call @f0(%x31) : (tensor<8xf32>) -> tensor<8xf32>
  return %x32 : tensor<8xf32>
}
func.func private @f2(%x0: tensor<8xf32>) -> tensor<8xf32> {
  %x1 = func.call @f1(%x0) : (tensor<8xf32>) -> tensor<8xf32>
  %x2 = func.call @f1(%x1) : (tensor<8xf32>) -> tensor<8xf32>
  %x3 = func.call @f1(%x2) : (tensor<8xf32>) -> tensor<8xf32>
  %x4 = func.call @f1(%x3) : (tensor<8xf32>) -> tensor<8xf32>
  %x5 = func.call @f1(%x4) : (tensor<8xf32>) -> tensor<8xf32>
  %x6 = func.call @f1(%x5) : (tensor<8xf32>) -> tensor<8xf32>
  %x7 = func.call @f1(%x6) : (tensor<8xf32>) -> tensor<8xf32>
  %x8 = func.call @f1(%x7) : (tensor<8xf32>) -> tensor<8xf32>
  %x9 = func.call @f1(%x8) : (tensor<8xf32>) -> tensor<8xf32>
  %x10 = func.call @f1(%x9) : (tensor<8xf32>) -> tensor<8xf32>
  %x11 = func.call @f1(%x10) : (tensor<8xf32>) -> tensor<8xf32>
  %x12 = func.call @f1(%x11) : (tensor<8xf32>) -> tensor<8xf32>
  %x13 = func.call @f1(%x12) : (tensor<8xf32>) -> tensor<8xf32>
  %x14 = func.call @f1(%x13) : (tensor<8xf32>) -> tensor<8xf32>
  %x15 = func.call @f1(%x14) : (tensor<8xf32>) -> tensor<8xf32>
  %x16 = func.call @f1(%x15) : (tensor<8xf32>) -> tensor<8xf32>
  %x17 = func.call @f1(%x16) : (tensor<8xf32>) -> tensor<8xf32>
  %x18 = func.call @f1(%x17) : (tensor<8xf32>) -> tensor<8xf32>
  %x19 = func.call @f1(%x18) : (tensor<8xf32>) -> tensor<8xf32>
  %x20 = func.call @f1(%x19) : (tensor<8xf32>) -> tensor<8xf32>
  %x21 = func.call @f1(%x20) : (tensor<8xf32>) -> tensor<8xf32>
  %x22 = func.call @f1(%x21) : (tensor<8xf32>) -> tensor<8xf32>
  %x23 = func.call @f1(%x22) : (tensor<8xf32>) -> tensor<8xf32>
  %x24 = func.call @f1(%x23) : (tensor<8xf32>) -> tensor<8xf32>
  %x25 = func.call @f1(%x24) : (tensor<8xf32>) -> tensor<8xf32>
  %x26 = func.call @f1(%x25) : (tensor<8xf32>) -> tensor<8xf32>
  %x27 = func.call @f1(%x26) : (tensor<8xf32>) -> tensor<8xf32>
  %x28 = func.call @f1(%x27) : (tensor<8xf32>) -> tensor<8xf32>
  %x29 = func.call @f1(%x28) : (tensor<8xf32>) -> tensor<8xf32>
  %x30 = func.call @f1(%x29) : (tensor<8xf32>) -> tensor<8xf32>
  %x31 = func.call @f1(%x30) : (tensor<8xf32>) -> tensor<8xf32>
  %x32 = func.call @f1(%x31) : (tensor<8xf32>) -> tensor<8xf32>
  return %x32 : tensor<8xf32>
}
// expected-note@+1 {{each call of @f3 adds 133,185 ops}}
func.func private @f3(%x0: tensor<8xf32>) -> tensor<8xf32> {
  %x1 = func.call @f2(%x0) : (tensor<8xf32>) -> tensor<8xf32>
  %x2 = func.call @f2(%x1) : (tensor<8xf32>) -> tensor<8xf32>
  %x3 = func.call @f2(%x2) : (tensor<8xf32>) -> tensor<8xf32>
  %x4 = func.call @f2(%x3) : (tensor<8xf32>) -> tensor<8xf32>
  %x5 = func.call @f2(%x4) : (tensor<8xf32>) -> tensor<8xf32>
  %x6 = func.call @f2(%x5) : (tensor<8xf32>) -> tensor<8xf32>
  %x7 = func.call @f2(%x6) : (tensor<8xf32>) -> tensor<8xf32>
  %x8 = func.call @f2(%x7) : (tensor<8xf32>) -> tensor<8xf32>
  %x9 = func.call @f2(%x8) : (tensor<8xf32>) -> tensor<8xf32>
  %x10 = func.call @f2(%x9) : (tensor<8xf32>) -> tensor<8xf32>
  %x11 = func.call @f2(%x10) : (tensor<8xf32>) -> tensor<8xf32>
  %x12 = func.call @f2(%x11) : (tensor<8xf32>) -> tensor<8xf32>
  %x13 = func.call @f2(%x12) : (tensor<8xf32>) -> tensor<8xf32>
  %x14 = func.call @f2(%x13) : (tensor<8xf32>) -> tensor<8xf32>
  %x15 = func.call @f2(%x14) : (tensor<8xf32>) -> tensor<8xf32>
  %x16 = func.call @f2(%x15) : (tensor<8xf32>) -> tensor<8xf32>
  %x17 = func.call @f2(%x16) : (tensor<8xf32>) -> tensor<8xf32>
  %x18 = func.call @f2(%x17) : (tensor<8xf32>) -> tensor<8xf32>
  %x19 = func.call @f2(%x18) : (tensor<8xf32>) -> tensor<8xf32>
  %x20 = func.call @f2(%x19) : (tensor<8xf32>) -> tensor<8xf32>
  %x21 = func.call @f2(%x20) : (tensor<8xf32>) -> tensor<8xf32>
  %x22 = func.call @f2(%x21) : (tensor<8xf32>) -> tensor<8xf32>
  %x23 = func.call @f2(%x22) : (tensor<8xf32>) -> tensor<8xf32>
  %x24 = func.call @f2(%x23) : (tensor<8xf32>) -> tensor<8xf32>
  %x25 = func.call @f2(%x24) : (tensor<8xf32>) -> tensor<8xf32>
  %x26 = func.call @f2(%x25) : (tensor<8xf32>) -> tensor<8xf32>
  %x27 = func.call @f2(%x26) : (tensor<8xf32>) -> tensor<8xf32>
  %x28 = func.call @f2(%x27) : (tensor<8xf32>) -> tensor<8xf32>
  %x29 = func.call @f2(%x28) : (tensor<8xf32>) -> tensor<8xf32>
  %x30 = func.call @f2(%x29) : (tensor<8xf32>) -> tensor<8xf32>
  %x31 = func.call @f2(%x30) : (tensor<8xf32>) -> tensor<8xf32>
  %x32 = func.call @f2(%x31) : (tensor<8xf32>) -> tensor<8xf32>
  return %x32 : tensor<8xf32>
}
func.func @f4(%x0: tensor<8xf32>) -> tensor<8xf32> {
  %x1 = func.call @f3(%x0) : (tensor<8xf32>) -> tensor<8xf32>
  %x2 = func.call @f3(%x1) : (tensor<8xf32>) -> tensor<8xf32>
  %x3 = func.call @f3(%x2) : (tensor<8xf32>) -> tensor<8xf32>
  %x4 = func.call @f3(%x3) : (tensor<8xf32>) -> tensor<8xf32>
  %x5 = func.call @f3(%x4) : (tensor<8xf32>) -> tensor<8xf32>
  %x6 = func.call @f3(%x5) : (tensor<8xf32>) -> tensor<8xf32>
  %x7 = func.call @f3(%x6) : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error@+1 {{is inlined, as all calls are, and then its function has more than 1,048,576 ops}}
  %x8 = func.call @f3(%x7) : (tensor<8xf32>) -> tensor<8xf32>
  %x9 = func.call @f3(%x8) : (tensor<8xf32>) -> tensor<8xf32>
  %x10 = func.call @f3(%x9) : (tensor<8xf32>) -> tensor<8xf32>
  %x11 = func.call @f3(%x10) : (tensor<8xf32>) -> tensor<8xf32>
  %x12 = func.call @f3(%x11) : (tensor<8xf32>) -> tensor<8xf32>
  %x13 = func.call @f3(%x12) : (tensor<8xf32>) -> tensor<8xf32>
  %x14 = func.call @f3(%x13) : (tensor<8xf32>) -> tensor<8xf32>
  %x15 = func.call @f3(%x14) : (tensor<8xf32>) -> tensor<8xf32>
  %x16 = func.call @f3(%x15) : (tensor<8xf32>) -> tensor<8xf32>
  %x17 = func.call @f3(%x16) : (tensor<8xf32>) -> tensor<8xf32>
  %x18 = func.call @f3(%x17) : (tensor<8xf32>) -> tensor<8xf32>
  %x19 = func.call @f3(%x18) : (tensor<8xf32>) -> tensor<8xf32>
  %x20 = func.call @f3(%x19) : (tensor<8xf32>) -> tensor<8xf32>
  %x21 = func.call @f3(%x20) : (tensor<8xf32>) -> tensor<8xf32>
  %x22 = func.call @f3(%x21) : (tensor<8xf32>) -> tensor<8xf32>
  %x23 = func.call @f3(%x22) : (tensor<8xf32>) -> tensor<8xf32>
  %x24 = func.call @f3(%x23) : (tensor<8xf32>) -> tensor<8xf32>
  %x25 = func.call @f3(%x24) : (tensor<8xf32>) -> tensor<8xf32>
  %x26 = func.call @f3(%x25) : (tensor<8xf32>) -> tensor<8xf32>
  %x27 = func.call @f3(%x26) : (tensor<8xf32>) -> tensor<8xf32>
  %x28 = func.call @f3(%x27) : (tensor<8xf32>) -> tensor<8xf32>
  %x29 = func.call @f3(%x28) : (tensor<8xf32>) -> tensor<8xf32>
  %x30 = func.call @f3(%x29) : (tensor<8xf32>) -> tensor<8xf32>
  %x31 = func.call @f3(%x30) : (tensor<8xf32>) -> tensor<8xf32>
  %x32 = func.call @f3(%x31) : (tensor<8xf32>) -> tensor<8xf32>
  return %x32 : tensor<8xf32>
}
