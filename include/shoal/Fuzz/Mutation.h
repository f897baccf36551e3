// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs with random errors: whatever the text, the tools answer with a
// result or with an error.

#ifndef SHOAL_FUZZ_MUTATION_H
#define SHOAL_FUZZ_MUTATION_H

#include "shoal/Fuzz/Choices.h"
#include "shoal/Fuzz/Fuzzer.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace shoal::fuzz {

/// Texts of programs, and what they consist of.
class Corpus {
public:
  /// Adds a text, each part between lines of `// -----` for itself.
  void addText(llvm::StringRef text);
  /// Adds the text of a `.mlir` file, the ```mlir blocks of a `.md` file, or
  /// all such files below a folder, in the order of their names. Returns
  /// whether it could be read.
  bool addPath(llvm::StringRef path);
  bool empty() const { return texts.empty(); }

  /// A text with one to four changes: tokens deleted, doubled, swapped or
  /// replaced by others of their kind, numbers by others, lines deleted or
  /// doubled.
  std::string mutate(Choices &choices) const;

private:
  std::vector<std::string> texts;
};

/// The tokens of MLIR's syntax, each with the white space before it; joined
/// they are the text.
std::vector<std::string> tokenize(llvm::StringRef text);

/// Parses the text and runs some of the pipelines on it, by the choices.
/// Nothing where each step succeeds or reports an error.
std::optional<Finding> checkText(mlir::MLIRContext &context,
                                 llvm::StringRef text, Choices &choices,
                                 StageObserver observe);

/// As fuzz(), for mutations of the corpus. With `shrink`, lines are removed
/// while the failure stays the same.
bool fuzzMutations(mlir::MLIRContext &context, const Corpus &corpus,
                   const FuzzOptions &options);

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_MUTATION_H
