// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Steps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace shoal;

/// The library's path; an error where it is not there.
static FailureOr<std::string> findLibrary(const TargetOptions &options,
                                          StringRef name, StringRef target,
                                          Location loc) {
  llvm::SmallString<128> path(options.runtimeDirectory);
  llvm::sys::path::append(path, name);
  if (!llvm::sys::fs::exists(path))
    return emitError(loc) << "cannot find the runtime library " << path
                          << ": build the target " << target;
  return path.str().str();
}

LogicalResult shoal::runTool(StringRef what, ArrayRef<std::string> command,
                             Location loc) {
  llvm::SmallString<128> log;
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("shoal-tool", "log", log))
    return emitError(loc) << "cannot make a temporary file: "
                          << error.message();
  llvm::scope_exit removeLog([&] {
    [[maybe_unused]] std::error_code ignored = llvm::sys::fs::remove(log);
  });
  SmallVector<StringRef> words(command.begin(), command.end());
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log),
                                          StringRef(log)};
  std::string message;
  int status = llvm::sys::ExecuteAndWait(words.front(), words, std::nullopt,
                                         redirects, /*SecondsToWait=*/0,
                                         /*MemoryLimit=*/0, &message);
  if (status == 0)
    return success();
  InFlightDiagnostic error = emitError(loc)
                             << what << " failed with status " << status;
  if (!message.empty())
    error << ": " << message;
  if (auto text = llvm::MemoryBuffer::getFile(log);
      text && (*text)->getBufferSize())
    error.attachNote() << words.front()
                       << " said: " << (*text)->getBuffer().rtrim();
  return failure();
}

LogicalResult shoal::link(StringRef objectPath, StringRef outputPath,
                          const RuntimeLibrary &runtime,
                          const TargetOptions &options, Location loc) {
  auto driver = llvm::sys::findProgramByName("mpicxx");
  if (!driver)
    return emitError(loc) << "cannot find mpicxx, which links the program with "
                             "MPI: install libopenmpi-dev";
  auto library = findLibrary(options, runtime.file, runtime.target, loc);
  if (failed(library))
    return failure();
  std::vector<std::string> arguments = {*driver, objectPath.str()};
  for (const std::string &file : options.linkedFiles) {
    if (!llvm::sys::fs::exists(file))
      return emitError(loc) << "--link: there is no file " << file;
    arguments.push_back(file);
  }
  arguments.push_back(*library);
  if (options.shared)
    arguments.push_back("-shared");
  for (StringRef flag : runtime.flags)
    arguments.push_back(flag.str());
  for (StringRef argument : {"-lm", "-pthread", "-o"})
    arguments.push_back(argument.str());
  arguments.push_back(outputPath.str());
  return runTool("linking", arguments, loc);
}
