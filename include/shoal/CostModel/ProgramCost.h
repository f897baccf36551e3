// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a per-device program costs: its collectives with the bytes they send,
// and its arithmetic. The one place that counts them, for statistics, reports
// and tests.

#ifndef SHOAL_COSTMODEL_PROGRAMCOST_H
#define SHOAL_COSTMODEL_PROGRAMCOST_H

#include "mlir/IR/Operation.h"
#include "shoal/Machine/Machine.h"
#include "shoal/Sharding/FactorRule.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>

namespace shoal {

/// A collective of a per-device program.
struct CollectiveCost {
  mlir::Operation *op;
  /// The op's name without its dialect: "all_to_all".
  std::string kind;
  /// The axes of its group, `{"x", "y":(1)2}`; of a collective_permute or
  /// exchange both lists, `{"x"} -> {"y"}`.
  std::string axes;
  /// Devices of a group.
  int64_t groupSize = 1;
  /// Bytes that the busiest device sends or receives, whichever is more; see
  /// Support/CollectiveBytes.h.
  int64_t bytes = 0;
  /// How often it runs: as often as the loops around it, those of unknown count
  /// once.
  int64_t runs = 1;
  /// "file:line:col" where that is known, else empty.
  std::string location;
  /// The op's `why`, else empty.
  std::string reason;
  /// What the program calls the part of it that this is of
  /// (`layers.0/attention`), else empty.
  std::string layer;
  /// What the mesh says that the group's axes are for (Roles.h), else empty.
  std::string roles;
  /// On targets that communicate in the background: collectives of the same
  /// axes are in one stream, and those of others may run beside them.
  int64_t stream = 0;
};

/// The collectives below `root` in program order. `axis_index` and `all_slice`
/// send nothing and are not among them. An op's place in this list is its
/// number in the program's metadata.
llvm::SmallVector<CollectiveCost> listCollectives(mlir::Operation *root);

/// What could be sent while all runs of these start, in bytes of a device; 0
/// where that is less than they send.
int64_t startingBytes(llvm::ArrayRef<CollectiveCost> collectives,
                      const Machine &machine);

struct ArithmeticCost {
  /// By the ops' factor rules, on the shapes as they stand; of ragged products
  /// those rows that are there where each device, and each group, has as many,
  /// as bytes are counted (Support/CollectiveBytes.h).
  double flops = 0;
  /// The part of it in products: einsums of several operands, convolutions,
  /// ragged ones.
  double einsumFlops = 0;
  /// Both with all rows that there is room for.
  double mostFlops = 0, mostEinsumFlops = 0;
};
/// Whether an op of this rule multiplies values with values and sums: einsums
/// of several operands, convolutions, ragged products.
bool isProduct(const FactorRule &rule);
/// Of the ops below `root` that are counted; all of them by default. What is
/// written for one device counts once for each that runs it.
ArithmeticCost countArithmetic(
    mlir::Operation *root,
    llvm::function_ref<bool(mlir::Operation *)> isCounted =
        [](mlir::Operation *) { return true; });

/// Bytes of a tensor or memref of static shape; a bool has one byte.
int64_t sizeInBytes(mlir::Type type);
/// Of what is no tensor of static shape none.
int64_t tensorBytes(mlir::Value value);

} // namespace shoal

#endif // SHOAL_COSTMODEL_PROGRAMCOST_H
