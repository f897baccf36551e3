// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SameStart.h"
#include "../Job/NodeSockets.h"
#include "shoal/Runtime/ABI.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <link.h>
#include <set>
#include <sstream>

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

/// What is said of two values that differ, the second that of rank 0.
using Shown =
    std::function<std::string(const std::string &, const std::string &)>;

static std::string showBoth(const std::string &mine, const std::string &first) {
  return mine + " instead of " + first;
}

/// `mine` is what each rank has, nothing where it is not to be compared; `what`
/// says it in the error.
static Status checkSame(World &world, const std::string &mine,
                        const std::string &what, const Shown &shown = {}) {
  std::string node = nodeName();
  // Rank 0's name and value, which go together: a name has no line's end.
  std::string told = world.broadcast(node + "\n" + mine);
  std::string firstNode = told.substr(0, told.find('\n'));
  std::string first = told.substr(firstNode.size() + 1);
  Status failed;
  if (!mine.empty() && !first.empty() && mine != first) {
    bool areApart = node != firstNode;
    std::string text = "rank " + std::to_string(world.rank()) +
                       (areApart ? " on " + node : "") + " has " + what +
                       " rank 0" + (areApart ? " on " + firstNode : "");
    if (shown)
      text += ": " + shown(mine, first);
    failed = Error{text};
  }
  return world.agree(failed);
}

static std::string libraryOfMPI() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(text, &length);
  return text;
}

/// What /proc/cpuinfo says behind a key, of the first processor.
static std::string cpuEntry(const std::string &text, const std::string &key) {
  size_t begin = text.find("\n" + key);
  if (begin == std::string::npos)
    return "";
  begin = text.find(':', begin);
  size_t end = text.find('\n', begin);
  return begin == std::string::npos || begin + 2 > end
             ? ""
             : text.substr(begin + 2, end - begin - 2);
}

namespace {
/// By which compilers and BLAS choose instructions. Models that differ in clock
/// and cache have the same numbers as a rule, and kernels and hypervisors show
/// flags that no code asks for.
struct KindOfCPU {
  std::string model;
  std::set<std::string> flags;

  static KindOfCPU ofThisMachine();
  static KindOfCPU parse(const std::string &text);
  std::string text() const;
  /// In words, as far as another one is different.
  std::string describe(const KindOfCPU &other) const;
};
} // namespace

KindOfCPU KindOfCPU::ofThisMachine() {
  std::ifstream file("/proc/cpuinfo");
  std::string text("\n");
  for (std::string line; std::getline(file, line) && !line.empty();)
    text += line + "\n";
  KindOfCPU kind;
  for (const char *key :
       {"vendor_id", "cpu family", "model\t", "CPU implementer", "CPU part"})
    if (std::string entry = cpuEntry(text, key); !entry.empty())
      kind.model += (kind.model.empty() ? "" : "/") + entry;
  std::istringstream flags(cpuEntry(text, "flags") + " " +
                           cpuEntry(text, "Features"));
  for (std::string flag; flags >> flag;)
    for (std::string_view family : {"sse", "avx", "amx", "fma", "f16c", "bmi",
                                    "asimd", "sve", "sme", "bf16", "i8mm"})
      if (flag.starts_with(family))
        kind.flags.insert(flag);
  return kind;
}

std::string KindOfCPU::text() const {
  std::string text = model + "\n";
  for (const std::string &flag : flags)
    text += flag + " ";
  return text;
}

KindOfCPU KindOfCPU::parse(const std::string &text) {
  KindOfCPU kind;
  kind.model = text.substr(0, text.find('\n'));
  std::istringstream stream(text.substr(kind.model.size()));
  for (std::string flag; stream >> flag;)
    kind.flags.insert(flag);
  return kind;
}

std::string KindOfCPU::describe(const KindOfCPU &other) const {
  std::string text = model, more;
  for (const std::string &flag : flags)
    if (!other.flags.contains(flag))
      more += " " + flag;
  return more.empty() ? text : text + " with" + more;
}

Status checkSameMachines(World &world) {
  if (Status failed =
          checkSame(world, libraryOfMPI(), "another MPI than", showBoth))
    return failed;
  const char *allows = std::getenv("SHOAL_MIXED_CPUS");
  bool mayDiffer = allows && std::string_view(allows) == "1";
  return checkSame(
      world, mayDiffer ? "" : KindOfCPU::ofThisMachine().text(),
      "another kind of CPU (SHOAL_MIXED_CPUS=1 allows it) than",
      [](const std::string &mine, const std::string &first) {
        KindOfCPU own = KindOfCPU::parse(mine), other = KindOfCPU::parse(first);
        return own.describe(other) + " instead of " + other.describe(own);
      });
}

Status checkSameProgram(World &world) {
  Hash metadata, code;
  metadata.add(shoal_program_metadata, std::strlen(shoal_program_metadata));
  if (Status failed = checkSame(world, metadata.text(), "another program than"))
    return failed;
  dl_iterate_phdr(addCode, &code);
  return checkSame(world, code.text(),
                   "another program, or another build of it, than");
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
  return checkSame(world, text, "other flags than", showBoth);
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
    std::string mine = std::ifstream(path) ? hash.text() : "";
    if (Status failed = checkSame(
            world, mine, "another file for input \"" + name + "\" than"))
      return failed;
  }
  return std::nullopt;
}

} // namespace shoal::rt
