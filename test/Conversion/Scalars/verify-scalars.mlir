// RUN: shoal-opt %s --split-input-file --verify-diagnostics --shoal-verify-scalars
// RUN: not shoal-opt %s --split-input-file --shoal-verify-scalars=keep-conversions 2>&1 | FileCheck %s --check-prefix=KEEP

func.func @c1_narrow_floats_are_added(%x: f16) -> f16 {
  // expected-error @below {{'arith.addf' op computes on 'f16': expected f32}}
  %0 = arith.addf %x, %x : f16
  return %0 : f16
}

// -----

func.func @c2_bf16_is_converted(%x: bf16) -> f32 {
  // expected-error @below {{'arith.extf' op converts 'bf16', which the target cannot: expected integer operations}}
  %0 = arith.extf %x : bf16 to f32
  return %0 : f32
}

// -----

// KEEP-NOT: 'bf16'
// KEEP: 'arith.truncf' op converts 'vector<2xf8E5M2>', which the target cannot
func.func @c2_f8_is_converted(%x: vector<2xf32>) -> vector<2xf8E5M2> {
  // expected-error @below {{'arith.truncf' op converts 'vector<2xf8E5M2>', which the target cannot: expected integer operations}}
  %0 = arith.truncf %x : vector<2xf32> to vector<2xf8E5M2>
  return %0 : vector<2xf8E5M2>
}

// -----

func.func @narrow_floats_are_moved(%c: i1, %x: f16) -> (f16, i16, f32) {
  %one = arith.constant 1.0 : f16
  %0 = arith.select %c, %x, %one : f16
  %1 = arith.bitcast %0 : f16 to i16
  %2 = arith.extf %0 : f16 to f32
  return %0, %1, %2 : f16, i16, f32
}
