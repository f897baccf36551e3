// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One compilation, and the folder of programs compiled before.

#ifndef SHOAL_LIB_COMPILER_COMPILECACHE_H
#define SHOAL_LIB_COMPILER_COMPILECACHE_H

#include "Places.h"
#include "mlir/IR/Diagnostics.h"
#include "shoal/Compiler/Driver.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBufferRef.h"

namespace shoal {

/// Takes note of what a compilation says while this lives; handlers that were
/// there get it, too.
class DiagnosticRecorder : public mlir::ScopedDiagnosticHandler {
public:
  explicit DiagnosticRecorder(mlir::MLIRContext *context);

  const llvm::json::Array &getMessages() const { return messages; }

private:
  llvm::json::Array messages;
};

/// Says again what was recorded, at the same places; false where that is not
/// what a recorder writes.
bool replayDiagnostics(const llvm::json::Value &messages,
                       mlir::MLIRContext &context);

/// Off where the options name no folder, and where files and what is said of
/// the program is not all that the compilation makes.
class CompileCache {
public:
  CompileCache(mlir::MLIRContext &context, const DriverOptions &options,
               llvm::MemoryBufferRef program);

  bool isOn() const { return !folder.empty(); }

  /// What was compiled before, after its messages have been given and its files
  /// written, with the places that the program has now; nothing where it was
  /// not, is damaged, or has no room for them. Fails after an error, where an
  /// output cannot be written.
  mlir::FailureOr<std::optional<Compiled>> load() const;

  /// Keeps what was made, whose files are there, and what was said. A cache
  /// that cannot be written to is no error, but a warning.
  void store(const Compiled &compiled, const llvm::json::Array &messages) const;

private:
  std::string entryPath() const;

  mlir::MLIRContext &context;
  const DriverOptions &options;
  /// Empty where the cache is off.
  std::string folder, key;
  llvm::SmallVector<Place> places;
};

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_COMPILECACHE_H
