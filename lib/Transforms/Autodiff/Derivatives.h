// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a function that is a derivative says of itself.

#ifndef SHOAL_LIB_TRANSFORMS_AUTODIFF_DERIVATIVES_H
#define SHOAL_LIB_TRANSFORMS_AUTODIFF_DERIVATIVES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace shoal {

/// On a declaration: a dictionary of `of`, `wrt`, `outputs` and `mode`.
inline constexpr llvm::StringLiteral kDerivativeAttr = "shoal.derivative";

enum class DerivativeMode { ValueAndGrad, Grad, Vjp };

std::optional<DerivativeMode> parseDerivativeMode(llvm::StringRef name);

struct Derivative {
  mlir::func::FuncOp of;
  llvm::SmallVector<int64_t> wrt, outputs;
  DerivativeMode mode;

  /// That of a declaration which has the attribute; or reports what is wrong
  /// with it, or with its type.
  static mlir::FailureOr<Derivative> read(mlir::func::FuncOp declaration,
                                          mlir::SymbolTable &symbols);

  /// The type of a function that is this derivative.
  mlir::FunctionType getType() const;
};

/// Fails with an error at `place` unless arguments and outputs exist, are
/// floats and, where the mode needs it, scalars.
mlir::LogicalResult verify(const Derivative &derivative,
                           mlir::Operation *place);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_AUTODIFF_DERIVATIVES_H
