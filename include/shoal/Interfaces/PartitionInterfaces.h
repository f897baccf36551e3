// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The op interfaces through which passes read what an op knows of itself.

#ifndef SHOAL_INTERFACES_PARTITIONINTERFACES_H
#define SHOAL_INTERFACES_PARTITIONINTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "shoal/Sharding/FactorRule.h"

namespace shoal {
class Localizer;

/// Places that a value passes through without change: whatever one of the
/// sources is, each of the values may be. All have one sharding.
struct Join {
  /// Operands of the op or of its regions' terminators.
  llvm::SmallVector<mlir::OpOperand *, 2> sources;
  /// Results of the op and arguments of its regions, of one type.
  llvm::SmallVector<mlir::Value, 3> values;
};

/// A value that enters a region written for one device, or leaves it.
struct Boundary {
  /// An operand of the op or of the region's terminator, and the argument of
  /// the region or result of the op that it becomes.
  mlir::OpOperand *source;
  mlir::Value value;
  /// A #shoal.sharding, of the whole value.
  mlir::Attribute sharding;
  bool isEntry;

  /// The value inside of the region.
  mlir::Value inner() const { return isEntry ? value : source->get(); }
  mlir::Value outer() const { return isEntry ? source->get() : value; }
};
} // namespace shoal

#include "shoal/Interfaces/PartitionInterfaces.h.inc"

namespace shoal {

/// How often an op in `block` runs while the function around it runs once, by
/// the weights of the regions that it stands in.
double weightOf(mlir::Block *block);

} // namespace shoal

#endif // SHOAL_INTERFACES_PARTITIONINTERFACES_H
