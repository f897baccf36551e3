// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Arithmetic that all targets compute alike.

#ifndef SHOAL_CONVERSION_SCALARS_PASSES_TD
#define SHOAL_CONVERSION_SCALARS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandMath : Pass<"shoal-expand-math"> {
  let summary = "Write out math functions that libraries do not have";
  let description = [{
    `math.isinf`, `math.clampf` and `math.ipowi` on scalars become `arith`; a
    power becomes a loop over the bits of its exponent, quotients that round up
    or down become those that round towards zero. Maxima and minima of floats
    stay: LLVM has instructions for them, and vectorizes loops of them, which it
    does not for comparisons that let NaN through.

    ```mlir
    func.func @f(%x: f32) -> i1 {
      %y = math.isinf %x : f32
      return %y : i1
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: f32) -> i1 {
      %infinity = arith.constant 0x7F800000 : f32
      %size = math.absf %x : f32
      %y = arith.cmpf oeq, %size, %infinity : f32
      return %y : i1
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect"];
}

def ApproximateMath : Pass<"shoal-approximate-math"> {
  let summary = "Replace f32 math functions by polynomials";
  let description = [{
    exp, expm1, log, log1p, log2, tanh, erf and erfc of f32 (and of bf16 and
    f16, in f32) become polynomials, which vectorize and have a relative error
    below 3e-7. log and log2 take denormal numbers for the smallest normal one. Other
    functions, and all of f64, are left to the math library.

    ```mlir
    func.func @f(%x: f32) -> f32 {
      %y = math.tanh %x : f32
      return %y : f32
    }
    ```
    becomes a quotient of two polynomials of what lies in [-8, 8]:
    ```mlir
    func.func @f(%x: f32) -> f32 {
      ...
      %1 = arith.cmpf ult, %x, %most : f32
      %2 = arith.select %1, %x, %most : f32
      ...
      %p = math.fma ...
      %q = math.fma ...
      %y = arith.divf %p, %q : f32
      ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def ExpandNarrowFloats : Pass<"shoal-expand-narrow-floats"> {
  let summary = "Write out the conversions of bf16 and f8, and round after every operation";
  let description = [{
    Assumes scalar code in which `--arith-emulate-unsupported-floats` has put
    the arithmetic of floats of 16 and 8 bits between extensions to f32 and
    roundings. No rounding is left out, so that values do not depend on fusion.
    Conversions of bf16 become integer operations (the compiler's support
    library may lack them), and those of f8E4M3FN and f8E5M2 do (LLVM has no
    such types); those from f64 have a single rounding. What is too large for
    f8E4M3FN becomes NaN.

    ```mlir
    func.func @f(%x: bf16) -> f32 {
      %y = arith.extf %x : bf16 to f32
      return %y : f32
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: bf16) -> f32 {
      %sixteen = arith.constant 16 : i32
      %0 = arith.bitcast %x : bf16 to i16
      %1 = arith.extui %0 : i16 to i32
      %2 = arith.shli %1, %sixteen : i32
      %y = arith.bitcast %2 : i32 to f32
      return %y : f32
    }
    ```
  }];
  let options = [
    Option<"keepConversions", "keep-conversions", "bool", /*default=*/"false",
           "The target converts between bf16 and f32 itself.">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def GuardDivision : Pass<"shoal-guard-division"> {
  let summary = "Integer divisions never trap";
  let description = [{
    Divides by one where a scalar integer division has no quotient: by zero, or
    of the smallest number by -1. Processors trap there, and rows of padding may
    hold such numbers although no row of the program does. The value is
    unspecified, as `arith` says.

    ```mlir
    func.func @ratio(%a: i32, %b: i32) -> i32 {
      %q = arith.divui %a, %b : i32
      return %q : i32
    }
    ```
    becomes
    ```mlir
    func.func @ratio(%a: i32, %b: i32) -> i32 {
      %one = arith.constant 1 : i32
      %zero = arith.constant 0 : i32
      %none = arith.cmpi eq, %b, %zero : i32
      %safe = arith.select %none, %one, %b : i32
      %q = arith.divui %a, %safe : i32
      return %q : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def VerifyScalars : Pass<"shoal-verify-scalars"> {
  let summary = "Checks that floats of less than 32 bits are only stored";
  let description = [{
    Fails where one of these does not hold. Changes nothing.

    * (C1) Ops of `arith` and `math` compute on floats of 32 bits and more;
      narrower ones are constants, selected, seen as integers, and converted.
    * (C2) The target itself converts f16 alone, and bf16 with
      `keep-conversions`.

    ```mlir
    func.func @f(%x: bf16) -> f32 {
      %0 = arith.extf %x : bf16 to f32
      return %0 : f32
    }
    ```
    is an error:
    ```text
    f.mlir:2:8: error: 'arith.extf' op converts 'bf16', which the target cannot: expected integer operations
    ```
  }];
  let options = [
    Option<"keepConversions", "keep-conversions", "bool", /*default=*/"false",
           "The target converts between bf16 and f32 itself.">
  ];
}

#endif // SHOAL_CONVERSION_SCALARS_PASSES_TD
