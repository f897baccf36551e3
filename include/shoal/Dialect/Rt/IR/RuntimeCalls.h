// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the ops of the `rt` dialect have in common.

#ifndef SHOAL_DIALECT_RT_IR_RUNTIMECALLS_H
#define SHOAL_DIALECT_RT_IR_RUNTIMECALLS_H

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "shoal/Calls/AllCalls.h"
#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "llvm/ADT/MapVector.h"

namespace shoal::rt {

/// The meshes of a program, by the numbers that descriptors give them: their
/// places in the module and in the metadata.
class ProgramMeshes {
public:
  explicit ProgramMeshes(mlir::ModuleOp module);

  int64_t numberOf(mlir::FlatSymbolRefAttr mesh) const;
  MeshAttr get(mlir::FlatSymbolRefAttr mesh) const;
  calls::Axes encode(mlir::FlatSymbolRefAttr mesh, AxesAttr axes) const;

private:
  llvm::MapVector<mlir::StringAttr, MeshAttr> meshes;
};

/// The streams that a program's collectives run in on targets that communicate
/// in the background, by their numbers. Those of one stream run in the order of
/// the program.
class CollectiveStreams {
public:
  /// Of the op's module. All are in one stream where nothing was noted.
  explicit CollectiveStreams(mlir::Operation *op);
  static void note(mlir::ModuleOp module, llvm::ArrayRef<int64_t> streams);

  int64_t of(int64_t number) const;

private:
  llvm::SmallVector<int64_t> streams;
};

/// The code of an element type, or of a tensor's or a buffer's elements;
/// nothing where the runtime has none such.
std::optional<calls::ElementType> findElementType(mlir::Type type);
/// So where there is one.
calls::ElementType encodeType(mlir::Type type);
calls::Kind encodeKind(ReduceKind kind);
std::vector<int64_t> encodeShape(mlir::Value value);

inline std::optional<int64_t> numberOf(mlir::IntegerAttr collective) {
  return collective ? std::optional(collective.getInt()) : std::nullopt;
}

/// Bytes of the values' elements.
int64_t countBytes(mlir::ValueRange values);

/// (R1), (R5)
llvm::LogicalResult verifyCall(mlir::Operation *op);

/// What a call on memrefs does with its operands; of tensors none.
void listCallEffects(mlir::Operation *op,
                     llvm::SmallVectorImpl<mlir::SideEffects::EffectInstance<
                         mlir::MemoryEffects::Effect>> &effects);

/// The same call on buffers, dense copies of those that are not dense.
llvm::LogicalResult
bufferizeCall(mlir::RewriterBase &rewriter, mlir::Operation *op,
              const mlir::bufferization::BufferizationOptions &options,
              mlir::bufferization::BufferizationState &state);

} // namespace shoal::rt

#endif // SHOAL_DIALECT_RT_IR_RUNTIMECALLS_H
