// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lines of the user's source in a program's text, and in what was compiled of
// it: where a program is known by all but its lines, what is kept of it tells
// those that it has now.

#ifndef SHOAL_LIB_COMPILER_PLACES_H
#define SHOAL_LIB_COMPILER_PLACES_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <tuple>

namespace shoal {

/// What a text says as `"model.py":12:5`.
struct Place {
  std::string file;
  uint64_t line = 0, column = 0;

  bool operator==(const Place &other) const {
    return std::tie(file, line, column) ==
           std::tie(other.file, other.line, other.column);
  }
};

/// A text with the number of each place where it stood, and the places by these
/// numbers, in the order in which they came first: which ops share one is part
/// of the text. Places whose files cannot be written without escapes stay.
struct PlacedText {
  std::string text;
  llvm::SmallVector<Place> places;
};

/// Of a program in MLIR.
PlacedText separatePlaces(llvm::StringRef program);

/// `["model.py", 12, 5, ...]`, and back; nothing of another text.
std::string printPlaces(llvm::ArrayRef<Place> places);
std::optional<llvm::SmallVector<Place>> parsePlaces(llvm::StringRef text);

/// The text with `to[i]` where it names `from[i]`: as "model.py":12:5,
/// model.py:12:5 or model.py:12, with the folder or without, also within
/// strings of JSON. Nothing where what it names is two that are not at one
/// place any more.
std::optional<std::string> movePlaces(llvm::StringRef text,
                                      llvm::ArrayRef<Place> from,
                                      llvm::ArrayRef<Place> to);

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_PLACES_H
