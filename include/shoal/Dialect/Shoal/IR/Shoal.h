// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `shoal` dialect of global programs and its attributes. Each family of ops
// has a header of its own.

#ifndef SHOAL_DIALECT_SHOAL_IR_SHOAL_H
#define SHOAL_DIALECT_SHOAL_IR_SHOAL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "shoal/Interfaces/PartitionInterfaces.h"

namespace shoal {
/// Whether the ranked tensor `type` is static and has less than 2^56 elements,
/// also where sizes of zero count as one.
bool isCountable(mlir::Type type);
/// So for static sizes.
bool isCountable(llvm::ArrayRef<int64_t> shape);

/// A ReduceKind as an attribute: its number, of type i32.
class ReduceKindAttr : public mlir::IntegerAttr {
public:
  using ValueType = ReduceKind;
  using mlir::IntegerAttr::IntegerAttr;
  static bool classof(mlir::Attribute attribute);
  static ReduceKindAttr get(mlir::MLIRContext *context, ReduceKind kind);
  // As the attributes that TableGen makes of enums.
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method)
  ReduceKind getValue() const;
};
} // namespace shoal

#include "shoal/Dialect/Shoal/IR/ShoalDialect.h.inc"
#include "shoal/Dialect/Shoal/IR/ShoalEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "shoal/Dialect/Shoal/IR/ShoalAttrs.h.inc"

namespace shoal {

/// Names of the discardable attributes of functions' arguments and results.
inline constexpr llvm::StringLiteral kNameAttr = "shoal.name";
inline constexpr llvm::StringLiteral kShardingAttr = "shoal.sharding";
/// A UnitAttr: the integers are unsigned to who calls the program.
inline constexpr llvm::StringLiteral kUnsignedAttr = "shoal.unsigned";
/// On arguments and results of a per-device function: the whole tensor's type.
inline constexpr llvm::StringLiteral kGlobalTypeAttr = "shoal.global_type";
/// On a per-device function.
inline constexpr llvm::StringLiteral kSpmdAttr = "shoal.spmd";
/// On a per-device function: operations of the global program's products (f64),
/// without one-hot einsums that are to become none.
inline constexpr llvm::StringLiteral kGlobalEinsumFlopsAttr =
    "shoal.global_einsum_flops";
/// An array of #shoal.sharding, one per result, on an op whose sharding has
/// been chosen.
inline constexpr llvm::StringLiteral kShardingsAttr = "shoal.shardings";
/// An array of #shoal.sharding, one per argument of the op's region.
inline constexpr llvm::StringLiteral kArgumentShardingsAttr =
    "shoal.argument_shardings";
/// An array of strings, one per result: where a propagated sharding came from.
inline constexpr llvm::StringLiteral kOriginAttr = "shoal.origin";

/// A string on an op that sends by itself: what would do away with that.
inline constexpr llvm::StringLiteral kRemovalAttr = "shoal.removal";

/// Parse and print `[{"x"}, {}]`, an array of #shoal.axes.
mlir::ParseResult parseAxesPerDim(mlir::AsmParser &parser,
                                  mlir::ArrayAttr &axes);
void printAxesPerDim(mlir::AsmPrinter &printer, mlir::Operation *op,
                     mlir::ArrayAttr axes);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_SHOAL_H
