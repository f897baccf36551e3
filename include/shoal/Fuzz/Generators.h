// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What random programs are made of. Adding an op: a generator, and its name in
// the function of its family in lib/Fuzz/Ops.

#ifndef SHOAL_FUZZ_GENERATORS_H
#define SHOAL_FUZZ_GENERATORS_H

#include "shoal/Fuzz/ProgramBuilder.h"

namespace shoal::fuzz {

/// Adds an op with random operands and attributes, all valid, and makes its
/// results known. Returns false, and may leave operands behind, where no value
/// at hand suits or the results would leave what floats can hold.
using Generator = bool (*)(ProgramBuilder &);

/// Regions in regions, and no deeper.
constexpr unsigned kMaxRegionDepth = 2;

/// Generators by the name of their op, each drawn with its weight.
class Generators {
public:
  void add(llvm::StringRef name, Generator generator, unsigned weight = 10);
  bool empty() const { return entries.empty(); }
  /// All families.
  static const Generators &all();

  Program makeProgram(mlir::MLIRContext &context, Choices &choices) const;
  /// All but those named; nothing where one has a name that none has.
  std::optional<Generators> without(llvm::ArrayRef<std::string> unwanted) const;
  /// Those named; nothing where one has a name that none has.
  std::optional<Generators> only(llvm::ArrayRef<std::string> wanted) const;
  /// For programs of this kind: where these are to have gradients, without
  /// those of ops that refuse to be differentiated, and loops know how often
  /// they run.
  Generators ofKind(const ProgramKind &kind) const;

private:
  struct Entry {
    llvm::StringRef name;
    Generator generator;
    unsigned weight;
  };
  const Entry &draw(Choices &choices) const;
  std::optional<Generators> filtered(llvm::ArrayRef<std::string> names,
                                     bool areWanted) const;

  llvm::SmallVector<Entry> entries;
  unsigned totalWeight = 0;
  ProgramKind kind;
};

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_GENERATORS_H
