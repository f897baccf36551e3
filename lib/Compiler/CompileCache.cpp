// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompileCache.h"
#include "CacheFolder.h"
#include "CacheKey.h"
#include "Outputs.h"
#include "shoal/Compiler/Cache.h"
#include "shoal/Target/ProgramMetadata.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace shoal;

static constexpr StringLiteral kDescription = "description.json",
                               kStatistics = "statistics.json",
                               kMessages = "messages.json", kOutput = "output",
                               kShared = "program.so", kPlaces = "places.json";

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
  PlacedText placed = separatePlaces(program.getBuffer());
  places = std::move(placed.places);
  key = makeCacheKey(program.getBufferIdentifier(), placed.text, options);
}

std::string CompileCache::entryPath() const {
  return cacheEntryPath(folder, key);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

namespace {

/// The members of an entry as they are told now.
struct Found {
  std::string description, statistics, output, shared;
  llvm::json::Value messages = nullptr;
};

/// Moves the members of an entry from the places that they were made at.
class EntryMover {
public:
  EntryMover(const CacheEntry &entry, ArrayRef<Place> from, ArrayRef<Place> to)
      : entry(entry), from(from), to(to) {}

  std::optional<Found> run() const;

private:
  std::optional<std::string> text(StringRef name) const {
    return movePlaces(entry.members.lookup(name), from, to);
  }
  std::optional<std::string> program(StringRef name) const;

  const CacheEntry &entry;
  ArrayRef<Place> from, to;
};

} // namespace

/// As descriptors of calls have a text: a character a word.
static std::string inWords(StringRef text) {
  std::string words;
  for (char letter : text)
    words.append(1, letter).append(sizeof(int64_t) - 1, '\0');
  return words;
}

/// Whether the bytes name a place of these files.
static bool namesPlace(StringRef bytes, ArrayRef<Place> places) {
  llvm::StringSet<> files;
  for (const Place &place : places)
    files.insert(place.file);
  return llvm::any_of(files.keys(), [&](StringRef file) {
    std::string text = (file + ":").str();
    return bytes.contains(text) || bytes.contains(inWords(text));
  });
}

/// Of places metadata can be written anew. Calls of a program that prints,
/// checks or calls functions have theirs in their descriptors, for which there
/// is no room.
std::optional<std::string> EntryMover::program(StringRef name) const {
  std::string bytes = entry.members.lookup(name).str();
  if (bytes.empty() || from == to)
    return bytes;
  std::optional<StringRef> metadata = readMetadata(bytes);
  std::optional<std::string> moved =
      metadata ? movePlaces(*metadata, from, to) : std::nullopt;
  if (!moved || !replaceMetadata(bytes, "") || namesPlace(bytes, from) ||
      !replaceMetadata(bytes, *moved))
    return std::nullopt;
  return bytes;
}

std::optional<Found> EntryMover::run() const {
  std::optional<std::string> description = text(kDescription),
                             statistics = text(kStatistics),
                             messages = text(kMessages),
                             output = program(kOutput),
                             shared = program(kShared);
  if (!description || !statistics || !messages || !output || !shared)
    return std::nullopt;
  auto read = llvm::json::parse(*messages);
  if (!read) {
    llvm::consumeError(read.takeError());
    return std::nullopt;
  }
  return Found{std::move(*description), std::move(*statistics),
               std::move(*output), std::move(*shared), std::move(*read)};
}

static bool isJSON(StringRef text) {
  auto value = llvm::json::parse(text);
  if (value)
    return true;
  llvm::consumeError(value.takeError());
  return false;
}

/// Nothing of an entry that no compiler wrote.
static std::optional<Found> takeEntry(const CacheEntry &entry,
                                      ArrayRef<Place> places) {
  std::optional<SmallVector<Place>> from =
      parsePlaces(entry.members.lookup(kPlaces));
  if (!from)
    return std::nullopt;
  std::optional<Found> found = EntryMover(entry, *from, places).run();
  if (!found || !isJSON(found->description) || !isJSON(found->statistics))
    return std::nullopt;
  return found;
}

static LogicalResult writeMember(MLIRContext &context, StringRef contents,
                                 StringRef path) {
  if (path.empty())
    return success();
  return writeFile(
      context, path, [&](llvm::raw_ostream &os) { os << contents; },
      /*isProgram=*/true);
}

FailureOr<std::optional<Compiled>> CompileCache::load() const {
  std::optional<Compiled> none;
  if (!isOn())
    return none;
  std::optional<CacheEntry> entry = readCacheEntry(entryPath());
  std::optional<Found> found = entry ? takeEntry(*entry, places) : std::nullopt;
  if (!found || !replayDiagnostics(found->messages, context))
    return none;
  if (failed(writeMember(context, found->output, options.outputPath)) ||
      failed(writeMember(context, found->shared, options.files.sharedPath)))
    return failure();
  return std::optional(
      Compiled{std::move(found->description), std::move(found->statistics)});
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
                                        {kPlaces, printPlaces(places)},
                                        {kOutput, (*output)->getBuffer()},
                                        {kShared, (*shared)->getBuffer()}}))
    warn(context, std::move(error));
}
