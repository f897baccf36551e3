// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Masks of one-hots, spelled in the ways of routers: what
// --shoal-sparsify-einsums looks for, of which single random ops make none.

#ifndef SHOAL_LIB_FUZZ_OPS_ONEHOTS_H
#define SHOAL_LIB_FUZZ_OPS_ONEHOTS_H

#include "shoal/Fuzz/ProgramBuilder.h"
#include <map>

namespace shoal::fuzz {

/// A value and a letter for each of its dimensions, as in an einsum.
struct Lettered {
  Known known;
  std::string letters;
};

/// Values over letters that have one size each: g and s are of tokens, e and c
/// of what these choose; m and n are rows.
class OneHots {
public:
  explicit OneHots(ProgramBuilder &p);

  /// A mask over tokens and what they choose, in any spelling, maybe seen
  /// through a reshape, slice, pad, ...; nothing where it would be too large.
  std::optional<Lettered> mask();

  int64_t sizeOf(char letter) const { return sizes.at(letter); }
  mlir::RankedTensorType type(llvm::StringRef letters, mlir::Type element);
  mlir::Type getElement() const { return element; }

private:
  // Places: integers over the tokens, some of them out of range.
  Lettered places(char over);
  Lettered placesOfTopK(char over);
  Lettered placesByCount(const Lettered &bits);
  Lettered placesWhereChosen(const Lettered &bits);

  // One-hots of places, over their letters and `over`.
  Lettered bits(const Lettered &place, char over);
  Lettered hot(const Lettered &place, char over);
  Lettered hotByFloats(const Lettered &place, char over);
  Lettered hotByEyeRows(const Lettered &place, char over);
  Lettered hotByScatter(const Lettered &place, char over);

  // Masks.
  Lettered choice();
  Lettered weighted(const Lettered &mask);
  Lettered product(const Lettered &a, const Lettered &b);
  Lettered sum(const Lettered &a, const Lettered &b);
  Lettered compared(const Lettered &mask);

  // The same mask seen in another way.
  Lettered view(const Lettered &mask);
  Lettered transposed(const Lettered &mask);
  Lettered merged(const Lettered &mask);
  Lettered cut(const Lettered &mask);
  Lettered padded(const Lettered &mask);
  Lettered reversed(const Lettered &mask);

  Lettered spread(const Lettered &value, llvm::StringRef letters);
  Lettered iota(llvm::StringRef letters, char along, mlir::Type element);
  Lettered splat(llvm::StringRef letters, mlir::Type element, double value);
  Lettered made(llvm::StringRef name, mlir::ValueRange operands,
                llvm::StringRef letters, mlir::Type element, Bounds range);
  Lettered compare(llvm::StringRef name, int64_t predicate, const Lettered &a,
                   const Lettered &b);
  /// A letter of this size that no value has.
  char fresh(int64_t size);

  ProgramBuilder &p;
  mlir::Type element, index;
  std::map<char, int64_t> sizes;
  size_t numFresh = 0;
  std::string tokens;
};

} // namespace shoal::fuzz

#endif // SHOAL_LIB_FUZZ_OPS_ONEHOTS_H
