// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompileCache.h"
#include "CacheFolder.h"
#include "CacheKey.h"
#include "Outputs.h"
#include "shoal/Compiler/Cache.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

static constexpr StringLiteral kDescription = "description.json",
                               kStatistics = "statistics.json",
                               kMessages = "messages.json", kOutput = "output",
                               kShared = "program.so";

/// Whether files and what is said of the program is all that is made.
static bool isCacheable(const DriverOptions &options) {
  bool makesFiles =
      options.emit == Emit::Executable || options.emit == Emit::Shared;
  bool hasFiles =
      !options.outputPath.empty() || !options.files.sharedPath.empty();
  return makesFiles && hasFiles && !options.report &&
         options.machinePath.empty() &&
         options.files.saveTempsDirectory.empty();
}

static void warn(MLIRContext &context, llvm::Error error) {
  emitWarning(UnknownLoc::get(&context))
      << "compiling without a cache (SHOAL_CACHE names another, or off): "
      << llvm::toString(std::move(error));
}

CompileCache::CompileCache(MLIRContext &context, const DriverOptions &options,
                           llvm::MemoryBufferRef program)
    : context(context), options(options) {
  if (options.cacheDirectory.empty() || !isCacheable(options))
    return;
  if (llvm::Error error = prepareCacheFolder(options.cacheDirectory)) {
    warn(context, std::move(error));
    return;
  }
  folder = options.cacheDirectory;
  key = makeCacheKey(program, options);
}

std::string CompileCache::entryPath() const {
  return cacheEntryPath(folder, key);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

static std::optional<llvm::json::Value> readJSON(const CacheEntry &entry,
                                                 StringRef name) {
  auto value = llvm::json::parse(entry.members.lookup(name));
  if (value)
    return *value;
  llvm::consumeError(value.takeError());
  return std::nullopt;
}

static LogicalResult writeMember(MLIRContext &context, const CacheEntry &entry,
                                 StringRef name, StringRef path) {
  if (path.empty())
    return success();
  StringRef contents = entry.members.lookup(name);
  return writeFile(
      context, path, [&](llvm::raw_ostream &os) { os << contents; },
      /*isProgram=*/true);
}

FailureOr<std::optional<Compiled>> CompileCache::load() const {
  std::optional<Compiled> none;
  if (!isOn())
    return none;
  std::optional<CacheEntry> entry = readCacheEntry(entryPath());
  if (!entry)
    return none;
  std::optional<llvm::json::Value> description = readJSON(*entry, kDescription);
  std::optional<llvm::json::Value> statistics = readJSON(*entry, kStatistics);
  std::optional<llvm::json::Value> messages = readJSON(*entry, kMessages);
  if (!description || !statistics || !statistics->getAsObject() || !messages ||
      !replayDiagnostics(*messages, context))
    return none;
  if (failed(writeMember(context, *entry, kOutput, options.outputPath)) ||
      failed(writeMember(context, *entry, kShared, options.files.sharedPath)))
    return failure();
  return std::optional(Compiled{entry->members.lookup(kDescription).str(),
                                entry->members.lookup(kStatistics).str()});
}

//===----------------------------------------------------------------------===//
// Storing
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readOutput(StringRef path) {
  if (path.empty())
    return llvm::MemoryBuffer::getMemBuffer("");
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return llvm::createStringError(path + ": " + file.getError().message());
  return std::move(*file);
}

void CompileCache::store(const Compiled &compiled,
                         const llvm::json::Array &messages) const {
  if (!isOn())
    return;
  auto output = readOutput(options.outputPath);
  auto shared = readOutput(options.files.sharedPath);
  if (!output || !shared)
    return warn(context,
                llvm::joinErrors(output.takeError(), shared.takeError()));
  std::string said =
      llvm::formatv("{0}", llvm::json::Value(llvm::json::Array(messages)));
  if (llvm::Error error =
          writeCacheEntry(entryPath(), {{kDescription, compiled.description},
                                        {kStatistics, compiled.statistics},
                                        {kMessages, said},
                                        {kOutput, (*output)->getBuffer()},
                                        {kShared, (*shared)->getBuffer()}}))
    warn(context, std::move(error));
}
