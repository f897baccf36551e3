// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Writes what was found out about values to the ops that make them.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_WRITER_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_WRITER_H

#include "Extract.h"
#include "llvm/ADT/MapVector.h"

namespace shoal {

/// Collects the sharding and origin of each value of a function. Arguments of
/// regions of joins agree with a result, which says all.
class ShardingWriter {
public:
  ShardingWriter(const ExtractedProblem &extracted, const Hints &hints)
      : extracted(extracted), hints(hints) {}

  /// The value with the id `value` has `sharding`.
  void add(unsigned value, const Sharding &sharding, unsigned deviceOrder);
  /// Sets `shoal.shardings` and `shoal.origin` on the ops, and
  /// `shoal.argument_shardings` on those with regions for one device.
  void writeResults() const;

  struct Record {
    llvm::SmallVector<mlir::Attribute> shardings, origins;
  };
  /// The function's arguments in order.
  const Record &getArguments() const { return arguments; }

private:
  const ExtractedProblem &extracted;
  const Hints &hints;
  Record arguments;
  llvm::MapVector<mlir::Operation *, Record> results;
  llvm::MapVector<mlir::Operation *, llvm::SmallVector<mlir::Attribute>>
      regionArguments;
};

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_WRITER_H
