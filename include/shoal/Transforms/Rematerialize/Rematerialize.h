// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Backward passes that compute values again instead of holding them.

#ifndef SHOAL_TRANSFORMS_REMATERIALIZE_REMATERIALIZE_H
#define SHOAL_TRANSFORMS_REMATERIALIZE_REMATERIALIZE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "shoal/Dialect/Shoal/IR/RematerializePolicy.h"
#include "shoal/Machine/Machine.h"

namespace shoal {

/// On a per-device function: what its backward pass computes again, a string
/// for the whole and one for each large value; absent where it is nothing.
inline constexpr llvm::StringLiteral kRematerializedAttr =
    "shoal.rematerialized";

struct RematerializeSettings {
  /// What is saved of ops outside of all boundaries.
  RematerializePolicy policy;
  /// Bytes that a device may hold, by the estimate below.
  std::optional<int64_t> limit;
  MachineKind machine = MachineKind::CPU;
};

/// What became of a function.
struct Rematerialized {
  /// The most that a device holds: the arguments and, in the order of the ops,
  /// what is made and still read. Fusion and memory that is written over make
  /// the compiled program's number another one, mostly less.
  int64_t estimatedBytes = 0;
  bool fits = true;
  /// Of what is computed again, and of the forward pass, in operations.
  double repeatedCost = 0, forwardCost = 0;
  /// The largest values that are held when that is most; those of one place and
  /// type, as layers of one function make, are one with their number.
  struct Held {
    mlir::Location loc;
    mlir::Type type;
    int64_t bytes;
    unsigned count = 1;
  };
  llvm::SmallVector<Held> largest;
};

/// An error at a boundary, or at the function where it is of the settings,
/// whose policy the machine cannot follow: there is no memory to offload to.
mlir::LogicalResult checkPolicies(mlir::func::FuncOp function,
                                  const RematerializeSettings &settings);

/// Rewrites a per-device function of one block. Its policies are checked.
/// Boundaries and names are gone behind it.
Rematerialized rematerialize(mlir::func::FuncOp function,
                             const RematerializeSettings &settings);

/// Whether a device may run the op twice by itself and gets the same bits: it
/// sends nothing, has no effect, and is no loop, branch or function of the
/// user's, of which nobody knows what they cost.
bool mayRunAgain(mlir::Operation *op);

/// Notes the five largest values at their places.
void attachLargest(mlir::InFlightDiagnostic &error,
                   const Rematerialized &outcome);

/// Bytes from "123", "64KiB", "12 GiB", "1.5GB"; nothing where the text is no
/// such number.
std::optional<int64_t> parseBytes(llvm::StringRef text);

} // namespace shoal

#endif // SHOAL_TRANSFORMS_REMATERIALIZE_REMATERIALIZE_H
