// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SameStart.h"
#include "shoal/Runtime/ABI.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <link.h>

namespace shoal::rt {

namespace {
/// FNV-1a over words: equal programs are told from others, no more.
struct Hash {
  uint64_t value = 0xcbf29ce484222325;

  /// AddressSanitizer would not have what it puts between constants be read.
  __attribute__((no_sanitize("address"))) void add(const char *data,
                                                   size_t bytes) {
    for (; bytes >= sizeof(uint64_t);
         data += sizeof(uint64_t), bytes -= sizeof(uint64_t)) {
      uint64_t word = 0;
      std::memcpy(&word, data, sizeof(word));
      addWord(word);
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < bytes; ++i)
      rest |= uint64_t{static_cast<unsigned char>(data[i])} << (8 * i);
    addWord(rest ^ bytes);
  }

  std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof(digits), "%016lx", value);
    return digits;
  }

private:
  void addWord(uint64_t word) {
    value = (value ^ word) * 0x100000001b3;
    value ^= value >> 29;
  }
};
} // namespace

static bool holds(const dl_phdr_info &object, const void *address) {
  auto place = reinterpret_cast<uintptr_t>(address);
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object.dlpi_phdr[i];
    uintptr_t begin = object.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && begin <= place &&
        place < begin + segment.p_memsz)
      return true;
  }
  return false;
}

/// The code and the constants of the executable or library that the program is
/// in, which nothing writes to.
static int addCode(dl_phdr_info *object, size_t, void *hash) {
  if (!holds(*object, shoal_program_metadata))
    return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && !(segment.p_flags & PF_W) &&
        (segment.p_flags & PF_R))
      static_cast<Hash *>(hash)->add(
          // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader's numbers.
          reinterpret_cast<const char *>(object->dlpi_addr + segment.p_vaddr),
          segment.p_filesz);
  }
  return 1;
}

/// `mine` is what each rank has; `what` says it in the error.
static Status checkSame(World &world, const std::string &mine,
                        const std::string &what, bool showsBoth) {
  std::string first = world.broadcast(mine);
  Status failed;
  if (mine != first) {
    std::string text =
        "rank " + std::to_string(world.rank()) + " has " + what + " rank 0";
    if (showsBoth)
      text += ": " + mine + " instead of " + first;
    failed = Error{text};
  }
  return world.agree(failed);
}

Status checkSameProgram(World &world) {
  Hash metadata, code;
  metadata.add(shoal_program_metadata, std::strlen(shoal_program_metadata));
  if (Status failed = checkSame(world, metadata.text(), "another program than",
                                /*showsBoth=*/false))
    return failed;
  dl_iterate_phdr(addCode, &code);
  return checkSame(world, code.text(),
                   "another program than, or another build of that of",
                   /*showsBoth=*/false);
}

Status checkSameFlags(World &world, const Options &options) {
  std::string text = "--repeat=" + std::to_string(options.repeat) +
                     " --warmup=" + std::to_string(options.warmup);
  if (options.randomSeed)
    text += " --random-inputs=" + std::to_string(*options.randomSeed);
  for (const auto &[name, file] : options.inputs)
    text += " --input " + name;
  if (!options.outputDir.empty())
    text += " --output-dir";
  if (!options.traceFile.empty())
    text += " --trace";
  if (options.cudaGraph)
    text += " --cuda-graph";
  return checkSame(world, text, "other flags than", /*showsBoth=*/true);
}

/// Of a file that cannot be read nothing: loading it says why.
static void addEnds(Hash &hash, const std::string &path) {
  constexpr std::streamoff ends = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return;
  std::streamoff size = file.tellg();
  hash.add(reinterpret_cast<const char *>(&size), sizeof(size));
  for (std::streamoff begin : {std::streamoff(0), size - ends}) {
    std::string part(std::min(size, ends), '\0');
    file.seekg(std::max<std::streamoff>(begin, 0));
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    hash.add(part.data(), part.size());
  }
}

Status checkSameInputs(World &world, const Options &options) {
  for (const auto &[name, path] : options.inputs) {
    Hash hash;
    addEnds(hash, path);
    bool isReadable = std::ifstream(path).good();
    if (Status failed = world.agree(
            isReadable ? Status() : Status(Error{"cannot open " + path})))
      return std::nullopt; // loading says more
    if (Status failed = checkSame(
            world, hash.text(), "another file for input \"" + name + "\" than",
            /*showsBoth=*/false))
      return failed;
  }
  return std::nullopt;
}

} // namespace shoal::rt
