// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The largest buffers where most is live, and what each could be replaced by.
// Decided on plain values: what is known of the per-device program before it is
// lowered (extractFacts), and its memory plan.

#ifndef SHOAL_REPORT_LIVEBUFFERS_H
#define SHOAL_REPORT_LIVEBUFFERS_H

#include "shoal/Target/Target.h"
#include <map>

namespace shoal {

/// A value of the per-device program.
struct ValueFacts {
  int64_t bytes = 0;
  /// Null of what is no tensor.
  mlir::Type element;
  /// The number of the op that makes it, or of the input that it is; neither of
  /// what a region is given.
  std::optional<int64_t> maker, input;
  /// Axes of the mesh along which all devices hold the same of it, and by whose
  /// size a dimension of the shard is divisible.
  struct Spare {
    std::string axis;
    int64_t size;
    bool operator==(const Spare &) const = default;
  };
  llvm::SmallVector<Spare, 1> spares;
};

struct OpFacts {
  std::string name;
  /// "file:line:col" where that is known, else empty.
  std::string place;
  /// Numbers of values.
  llvm::SmallVector<int64_t, 4> operands;
  llvm::SmallVector<int64_t, 1> results;
  /// Operations of one run.
  double cost = 0;
  /// Whether a device gets the same bits by doing it twice, and sends nothing.
  bool mayRepeat = false;
  /// Whether it multiplies values with values and sums.
  bool isProduct = false;
  /// Whether the result is elements of its one operand, each at most once.
  bool isCopy = false;
  /// Of a gather the devices of a group; else 1.
  int64_t gathered = 1;
  /// Whether it stands in a loop or branch.
  bool isInner = false;
};

struct ProgramFacts {
  /// By their numbers, which their locations note.
  std::map<int64_t, OpFacts> ops;
  std::vector<ValueFacts> values;
  /// Of each input the last op that reads it, or -1.
  std::vector<int64_t> lastReaders;
};

/// Numbers the ops as listProgram does. Changes nothing but locations.
ProgramFacts extractFacts(mlir::ModuleOp module);

/// What a buffer could be replaced by. The earlier, the less it costs.
enum class Replacement {
  /// Its elements are held by another value anyway.
  Copy,
  /// An output in the memory of an input, were that donated.
  Donated,
  /// Its readers could take what they need of it one after the other.
  Gathered,
  /// What a product packs lies in the order that the library takes.
  Packed,
  /// Computed again, without products, from what is held anyway.
  Repeated,
  /// A part of it, along an axis along which all devices hold the same.
  Split,
  /// As Repeated, with products.
  RepeatedProducts,
  /// Numbers of 16 bits.
  Half,
  Nothing,
};

struct LiveBuffer {
  /// In MemoryPlan::buffers.
  int64_t buffer = 0;
  int64_t bytes = 0;
  /// The op that made what it holds where most is live, where known.
  std::optional<int64_t> op;
  /// "shoal.einsum at m.mlir:33:8".
  std::string made;
  Replacement replacement = Replacement::Nothing;
  /// Of a device, where most is live.
  int64_t savedBytes = 0;
  /// For a reader: "computed again from ...: 4,096 operations".
  std::string text;
};

/// One for each of MemoryPlan::held.
std::vector<LiveBuffer> describeLiveBuffers(const ProgramFacts &facts,
                                            const LoweredProgram &program);

/// "copy", "donated", ...
llvm::StringRef toString(Replacement replacement);

/// As docs/guide/Report.md describes the data's `largest`.
llvm::json::Array toJSON(llvm::ArrayRef<LiveBuffer> buffers);

} // namespace shoal

#endif // SHOAL_REPORT_LIVEBUFFERS_H
