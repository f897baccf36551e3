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

std::string shoal::findQuickLinker() {
  std::string ofThisVersion =
      ("ld.lld-" + llvm::Twine(LLVM_VERSION_MAJOR)).str();
  for (StringRef name : {StringRef("ld.lld"), StringRef(ofThisVersion)}) {
    auto found = llvm::sys::findProgramByName(name);
    llvm::SmallString<128> path;
    if (!found || llvm::sys::fs::real_path(*found, path))
      continue;
    llvm::sys::path::remove_filename(path);
    llvm::sys::path::append(path, "ld.lld");
    if (llvm::sys::fs::can_execute(path))
      return path.str().str();
  }
  return {};
}

/// The command that links `objects` and the runtime.
static std::vector<std::string> linkCommand(StringRef driver,
                                            ArrayRef<std::string> objects,
                                            StringRef library, bool shared,
                                            const RuntimeLibrary &runtime,
                                            const TargetOptions &options) {
  std::vector<std::string> command = {driver.str()};
  // By its folder: drivers know it without LLVM's version in its name alone.
  if (std::string linker = findQuickLinker(); !linker.empty())
    llvm::append_range(
        command, ArrayRef<std::string>{
                     "-fuse-ld=lld",
                     ("-B" + llvm::sys::path::parent_path(linker)).str()});
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
