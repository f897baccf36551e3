// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The lines of the user's files that ops come from.

#ifndef SHOAL_LIB_REPORT_SOURCELINES_H
#define SHOAL_LIB_REPORT_SOURCELINES_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>

namespace shoal {

/// `text` as JSON can hold it: whatever is not UTF-8 replaced.
std::string toUTF8(llvm::StringRef text);

class SourceLines {
public:
  /// `[file, line, column]`, the file as its number in `files`; null where the
  /// location names no file.
  llvm::json::Value add(mlir::Location loc);

  /// For each file its name and the text of the lines that were added; none
  /// where the file cannot be read.
  llvm::json::Array takeFiles();

private:
  /// For each file the numbers of the lines asked for.
  llvm::MapVector<mlir::StringAttr, std::map<int64_t, std::string>> files;
};

} // namespace shoal

#endif // SHOAL_LIB_REPORT_SOURCELINES_H
