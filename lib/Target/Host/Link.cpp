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

/// The flags that make the compiler driver call mold, several times as fast as
/// the system's linker; empty where it is not there. Also drivers that do not
/// know it by name look for `ld` in such a folder. Without RELRO: mold 1.10
/// begins it at thread-local zeros, where their page may be none that is
/// mapped, and the program then does not start.
static std::vector<std::string> findQuickLinker() {
  auto mold = llvm::sys::findProgramByName("mold");
  if (!mold)
    return {};
  llvm::SmallString<128> folder(
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(*mold)));
  llvm::sys::path::append(folder, "libexec", "mold");
  if (!llvm::sys::fs::can_execute(folder + "/ld"))
    return {};
  return {("-B" + folder).str(), "-Wl,-z,norelro"};
}

/// The command that links `objects` and the runtime.
static std::vector<std::string> linkCommand(StringRef driver,
                                            ArrayRef<std::string> objects,
                                            StringRef library, bool shared,
                                            const RuntimeLibrary &runtime,
                                            const TargetOptions &options) {
  std::vector<std::string> command = {driver.str()};
  llvm::append_range(command, findQuickLinker());
  llvm::append_range(command, llvm::map_range(objects, asOperand));
  llvm::append_range(command, llvm::map_range(options.linkedFiles, asOperand));
  // What a process calls that opens the library is in the runtime's archive,
  // which the program itself does not name. Several programs in one process do
  // not see each other.
  if (shared)
    llvm::append_range(command,
                       ArrayRef<StringRef>{"-shared", "-Wl,-Bsymbolic",
                                           "-Wl,-u,shoal_session_open"});
  llvm::append_range(command, runtime.needed);
  command.push_back(library.str());
  llvm::append_range(command, runtime.flags);
  llvm::append_range(command, ArrayRef<StringRef>{"-lm", "-pthread", "-o"});
  return command;
}

LogicalResult shoal::link(ArrayRef<std::string> objects, StringRef outputPath,
                          bool shared, const RuntimeLibrary &runtime,
                          const TargetOptions &options, Location loc) {
  auto driver = llvm::sys::findProgramByName("mpicxx");
  if (!driver)
    return emitError(loc) << "cannot find mpicxx, which links the program with "
                             "MPI: install libopenmpi-dev";
  auto library = findLibrary(options, runtime.file, runtime.target, loc);
  if (failed(library))
    return failure();
  for (const std::string &file : options.linkedFiles)
    if (!llvm::sys::fs::exists(file))
      return emitError(loc) << "--link: there is no file " << file;
  std::vector<std::string> command =
      linkCommand(*driver, objects, *library, shared, runtime, options);
  TemporaryFile linked(outputPath);
  command.push_back(asOperand(linked.path));
  if (failed(runTool("linking", command, loc)))
    return failure();
  return linked.moveToOutput(loc);
}
