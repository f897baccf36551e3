// Canonicalization ends where an op, outside of functions, is its own operand.
//
// RUN: shoal-opt %s --canonicalize | FileCheck %s

// CHECK: module {
// CHECK-NOT: shoal.bitcast_convert
%x = shoal.bitcast_convert %x : tensor<4xf32> -> tensor<4xf32>
