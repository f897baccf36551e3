// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CacheFolder.h"
#include "shoal/Compiler/Cache.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace shoal;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

// The files that llvm::pruneCache counts have this prefix.
static constexpr llvm::StringLiteral kPrefix = "llvmcache-";
static constexpr llvm::StringLiteral kNew = "new-";
// Of a key, which is a digest, and of a name that nothing else has.
static constexpr size_t kKeyDigits = 64, kNewDigits = 12;

std::string shoal::findCacheDirectory() {
  const char *named = std::getenv("SHOAL_CACHE");
  if (named && *named)
    return StringRef(named) == "off" ? "" : named;
  llvm::SmallString<128> folder;
  if (!llvm::sys::path::cache_directory(folder))
    return "";
  llvm::sys::path::append(folder, "shoal");
  return folder.str().str();
}

/// Whether a cache has given the name, to an entry or to one that is written.
static bool isOwnName(StringRef name) {
  if (!name.consume_front(kPrefix))
    return false;
  size_t length = name.consume_front(kNew) ? kNewDigits : kKeyDigits;
  return name.size() == length && llvm::all_of(name, llvm::isHexDigit);
}

static llvm::Error fail(StringRef path, const llvm::Twine &why) {
  return llvm::createStringError(path + ": " + why);
}

llvm::Expected<int64_t> shoal::clearCache(StringRef folder) {
  int64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (!isOwnName(llvm::sys::path::filename(file->path())))
      continue;
    if (std::error_code removal = fs::remove(file->path()))
      return fail(file->path(), removal.message());
    ++count;
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return fail(folder, error.message());
  return count;
}

llvm::Error shoal::prepareCacheFolder(StringRef folder) {
  if (std::error_code error = fs::create_directories(
          folder, /*IgnoreExisting=*/true, fs::owner_all))
    return fail(folder, error.message());
  fs::file_status status;
  if (std::error_code error = fs::status(folder, status))
    return fail(folder, error.message());
  if (!fs::is_directory(status))
    return fail(folder, "is no folder");
  if (status.getUser() != geteuid())
    return fail(folder, "belongs to another user");
  if (status.permissions() & (fs::group_write | fs::others_write))
    return fail(folder, "other users can write to it");
  return llvm::Error::success();
}

std::string shoal::cacheEntryPath(StringRef folder, StringRef key) {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, kPrefix + key);
  return path.str().str();
}

//===----------------------------------------------------------------------===//
// Entries: archives whose first member is a digest of the others
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral kDigest = "digest";

std::string shoal::digestOf(llvm::ArrayRef<StringRef> parts) {
  llvm::BLAKE3 hasher;
  for (StringRef part : parts) {
    // Lengths too: parts are not to run into each other.
    hasher.update(std::to_string(part.size()) + ":");
    hasher.update(part);
  }
  return llvm::toHex(hasher.final(), /*LowerCase=*/true);
}

static llvm::Error readMembers(CacheEntry &entry) {
  auto archive = llvm::object::Archive::create(*entry.file);
  if (!archive)
    return archive.takeError();
  llvm::SmallVector<StringRef> parts;
  StringRef digest;
  llvm::Error error = llvm::Error::success();
  for (const llvm::object::Archive::Child &child :
       (*archive)->children(error)) {
    llvm::Expected<StringRef> name = child.getName();
    if (!name)
      return llvm::joinErrors(std::move(error), name.takeError());
    llvm::Expected<StringRef> contents = child.getBuffer();
    if (!contents)
      return llvm::joinErrors(std::move(error), contents.takeError());
    // The reader believes what the header of a member says of its size.
    if (contents->end() > entry.file->getBufferEnd())
      return llvm::joinErrors(
          std::move(error), fail(entry.file->getBufferIdentifier(), "is cut"));
    if (*name == kDigest) {
      digest = *contents;
      continue;
    }
    parts.append({*name, *contents});
    entry.members[*name] = *contents;
  }
  if (error)
    return error;
  if (digest != digestOf(parts))
    return fail(entry.file->getBufferIdentifier(), "is damaged");
  return llvm::Error::success();
}

/// A file of this user's that no other one may write: what is in it runs here.
/// -1 where it is another one, or a link, whose end anybody may choose.
static int openOwn(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat status;
  bool isOwn = file >= 0 && fstat(file, &status) == 0 &&
               S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
               (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (file >= 0 && !isOwn)
    close(file);
  return isOwn ? file : -1;
}

std::optional<CacheEntry> shoal::readCacheEntry(StringRef path) {
  int opened = openOwn(path.str());
  if (opened < 0)
    return std::nullopt;
  // It is used now, wherever the disk's own times of reading are off.
  const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  futimens(opened, times);
  // Read, not mapped: another process may write or cut it.
  auto file = llvm::MemoryBuffer::getOpenFile(opened, path, /*FileSize=*/-1,
                                              /*RequiresNullTerminator=*/false,
                                              /*IsVolatile=*/true);
  close(opened);
  if (!file)
    return std::nullopt;
  CacheEntry entry{{}, std::move(*file)};
  if (llvm::Error error = readMembers(entry)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  return entry;
}

static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
pack(llvm::ArrayRef<CacheMember> members) {
  llvm::SmallVector<StringRef> parts;
  for (const CacheMember &member : members)
    parts.append({member.name, member.contents});
  std::string digest = digestOf(parts);
  llvm::SmallVector<CacheMember> all{{kDigest, digest}};
  llvm::append_range(all, members);
  std::vector<llvm::NewArchiveMember> files;
  for (const CacheMember &member : all)
    files.emplace_back(llvm::MemoryBufferRef(member.contents, member.name));
  return llvm::writeArchiveToBuffer(files, llvm::SymtabWritingMode::NoSymtab,
                                    llvm::object::Archive::K_GNU,
                                    /*Deterministic=*/true, /*Thin=*/false);
}

static std::error_code writeTo(int descriptor, StringRef contents) {
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/false);
  os << contents;
  os.flush();
  std::error_code error = os.error();
  os.clear_error();
  return error;
}

llvm::Error shoal::writeCacheEntry(StringRef path,
                                   llvm::ArrayRef<CacheMember> members) {
  auto contents = pack(members);
  if (!contents)
    return contents.takeError();
  StringRef folder = llvm::sys::path::parent_path(path);
  // With the prefix: one that a process left behind is pruned, too.
  auto file = fs::TempFile::create(
      cacheEntryPath(folder, (kNew + std::string(kNewDigits, '%')).str()),
      fs::owner_read | fs::owner_write);
  if (!file)
    return file.takeError();
  if (std::error_code error = writeTo(file->FD, (*contents)->getBuffer()))
    return llvm::joinErrors(fail(file->TmpName, error.message()),
                            file->discard());
  if (llvm::Error error = file->keep(path))
    return error;
  llvm::CachePruningPolicy policy;
  policy.Interval = std::chrono::seconds(0); // the bound always holds
  policy.Expiration = std::chrono::hours(0);
  policy.MaxSizeBytes = kCacheBytes;
  llvm::pruneCache(folder, policy);
  return llvm::Error::success();
}
