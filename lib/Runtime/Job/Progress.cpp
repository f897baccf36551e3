// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Progress.h"

#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace shoal::rt {

int64_t monotonicNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

char stateOf(int process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  size_t name = text.rfind(')');
  return name == std::string::npos || name + 2 >= text.size() ? 'X'
                                                              : text[name + 2];
}

//===----------------------------------------------------------------------===//
// A line
//===----------------------------------------------------------------------===//

// Readers may see an entry half written; they only print it.
static constexpr auto relaxed = std::memory_order_relaxed;

void RankProgress::enter(Place where, int64_t what) {
  uint64_t number = recorded.load(relaxed);
  RecordedCollective &entry = last[number % kept];
  entry.place.store(where, relaxed);
  entry.id.store(what, relaxed);
  entry.step.store(step.load(relaxed), relaxed);
  entry.begin.store(monotonicNanoseconds(), relaxed);
  entry.end.store(0, relaxed);
  recorded.store(number + 1, relaxed);
  id.store(what, relaxed);
  place.store(where, relaxed);
  changes.store(changes.load(relaxed) + 1, std::memory_order_release);
}

void RankProgress::leave() {
  last[(recorded.load(relaxed) - 1) % kept].end.store(monotonicNanoseconds(),
                                                      relaxed);
  place.store(Place::Outside, relaxed);
  changes.store(changes.load(relaxed) + 1, std::memory_order_release);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
struct alignas(64) Head {
  std::atomic<bool> isSpoken;
};
} // namespace

static size_t bytesOf(size_t lines) {
  return sizeof(Head) + lines * sizeof(RankProgress);
}

ProgressTable::ProgressTable(size_t lines) { mapFile(/*file=*/-1, lines); }

ProgressTable::~ProgressTable() {
  if (memory)
    munmap(memory, bytes);
}

bool ProgressTable::mapFile(int file, size_t wanted) {
  int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void *mapped = mmap(nullptr, bytesOf(wanted), PROT_READ | PROT_WRITE, flags,
                      file, /*offset=*/0);
  if (mapped == MAP_FAILED)
    return false;
  // The kernel gives zeros, which all members begin with.
  memory = mapped;
  bytes = bytesOf(wanted);
  lines = reinterpret_cast<RankProgress *>(static_cast<char *>(mapped) +
                                           sizeof(Head));
  count = wanted;
  return true;
}

std::optional<std::string> ProgressTable::create(size_t wanted) {
  std::random_device random;
  std::string name =
      "/shoal-" + std::to_string(getpid()) + "-" + std::to_string(random());
  int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  if (file < 0)
    return std::nullopt;
  bool isMapped =
      posix_fallocate(file, 0, static_cast<off_t>(bytesOf(wanted))) == 0 &&
      mapFile(file, wanted);
  close(file);
  if (isMapped)
    return name;
  remove(name);
  return std::nullopt;
}

void ProgressTable::remove(const std::string &name) {
  shm_unlink(name.c_str());
}

bool ProgressTable::map(const std::string &name, size_t wanted) {
  int file = shm_open(name.c_str(), O_RDWR, 0600);
  if (file < 0)
    return false;
  bool isMapped = mapFile(file, wanted);
  close(file);
  return isMapped;
}

bool ProgressTable::claimsTheWord() {
  return !static_cast<Head *>(memory)->isSpoken.exchange(true);
}

} // namespace shoal::rt
