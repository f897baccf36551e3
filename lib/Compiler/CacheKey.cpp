// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CacheKey.h"
#include "CacheFolder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Host.h"
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>

using namespace mlir;
using namespace shoal;

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// The file as it is now, unread.
static llvm::json::Value identify(StringRef path) {
  llvm::sys::fs::file_status status;
  if (llvm::sys::fs::status(path, status))
    return nullptr;
  return llvm::json::Array{
      path.str(), status.getSize(),
      status.getLastModificationTime().time_since_epoch().count()};
}

/// The executable or library that has this address in it.
static llvm::json::Value identifyImage(const void *address) {
  Dl_info info;
  void *map = nullptr;
  if (!dladdr1(address, &info, &map, RTLD_DL_LINKMAP))
    return nullptr;
  // The executable has no name of its own there.
  StringRef name = static_cast<link_map *>(map)->l_name;
  return identify(name.empty() ? "/proc/self/exe" : name);
}

static llvm::json::Value identifyTool(StringRef name) {
  auto path = llvm::sys::findProgramByName(name);
  return path ? identify(*path) : nullptr;
}

/// The runtime's libraries, by name.
static llvm::json::Value identifyLibraries(StringRef folder) {
  llvm::json::Object libraries;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(folder, error), end;
       !error && file != end; file.increment(error)) {
    StringRef name = llvm::sys::path::filename(file->path());
    if (name.starts_with("libshoal_"))
      libraries[name.str()] = identify(file->path());
  }
  return libraries;
}

static llvm::json::Value digestFiles(llvm::ArrayRef<std::string> paths) {
  llvm::json::Array files;
  for (StringRef path : paths) {
    auto contents = llvm::MemoryBuffer::getFile(
        path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
    files.push_back(llvm::json::Array{
        path.str(), contents ? digestOf((*contents)->getBuffer()) : ""});
  }
  return files;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static llvm::json::Value toJSON(const std::vector<std::string> &words) {
  return llvm::json::Array(words);
}
template <typename T>
static llvm::json::Value toJSON(T value) {
  return value;
}

static llvm::json::Value describe(const PartitionOptions &options) {
  llvm::json::Object values;
  for (const PartitionOption &option : partitionOptions())
    std::visit(
        [&](auto member) { values[option.flag] = toJSON(options.*member); },
        option.member);
  return values;
}

/// What a machine file has counts, not where it lies.
static PartitionOptions withMachineDigest(PartitionOptions options) {
  if (auto file = llvm::MemoryBuffer::getFile(options.machineFile))
    options.machineFile = digestOf({(*file)->getBuffer()});
  return options;
}

static llvm::json::Value describe(const DriverOptions &options) {
  return llvm::json::Object{
      {"entry", options.entry},
      {"emit", static_cast<int>(options.emit)},
      {"target", static_cast<int>(options.target)},
      {"makes",
       llvm::json::Array{!options.outputPath.empty(), options.files.shared,
                         !options.files.sharedPath.empty()}},
      {"runtime", options.files.runtimeDirectory},
      {"archs", toJSON(options.cuda.archs)},
      {"toolkit", options.cuda.toolkitDirectory},
      {"tf32", options.cuda.tf32},
      {"overlap-memory", options.cuda.overlapMemory},
      {"opt-level", options.files.optLevel.value_or(kMaxOptLevel)},
      {"check-finite", options.checks.finite},
      {"check-replicas", options.checks.replicas},
      {"partition", describe(withMachineDigest(options.partition))}};
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

static llvm::json::Value describeProcessor() {
  std::vector<std::string> features;
  for (const auto &[name, enabled] : llvm::sys::getHostCPUFeatures())
    if (enabled)
      features.push_back(name.str());
  llvm::sort(features);
  return llvm::json::Array{llvm::sys::getProcessTriple(),
                           llvm::sys::getHostCPUName(), toJSON(features)};
}

/// What mpicxx, the compiler that it calls, and ptxas look at.
static llvm::json::Value describeEnvironment() {
  llvm::json::Object values;
  for (const char *name :
       {"OMPI_CXX", "OMPI_CPPFLAGS", "OMPI_CXXFLAGS", "OMPI_LDFLAGS",
        "OMPI_LIBS", "LIBRARY_PATH", "LD_RUN_PATH", "COMPILER_PATH",
        "GCC_EXEC_PREFIX", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"})
    if (const char *value = std::getenv(name))
      values[name] = value;
  return values;
}

std::string shoal::makeCacheKey(StringRef name, StringRef text,
                                const DriverOptions &options) {
  auto ours = &shoal::makeCacheKey;
  auto ofLLVM = static_cast<StringRef (*)()>(&llvm::sys::getHostCPUName);
  auto ofMLIR = &mlir::registerPassManagerCLOptions;
  llvm::json::Object facts{
      {"compiler",
       llvm::json::Array{
           identifyImage(reinterpret_cast<const void *>(ours)),
           identifyImage(reinterpret_cast<const void *>(ofLLVM)),
           identifyImage(reinterpret_cast<const void *>(ofMLIR))}},
      {"options", describe(options)},
      {"libraries", identifyLibraries(options.files.runtimeDirectory)},
      {"linked", digestFiles(options.files.linkedFiles)},
      {"tools",
       llvm::json::Array{identifyTool("mpicxx"), identify(findQuickLinker()),
                         identifyTool("ld"), identifyTool("ptxas")}},
      {"processor", describeProcessor()},
      {"environment", describeEnvironment()}};
  std::string said = llvm::formatv("{0}", llvm::json::Value(std::move(facts)));
  return digestOf({said, name, text});
}
