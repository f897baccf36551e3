// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Faults.h"
#include "Error.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::emulation {

namespace {

struct Fault {
  std::string function;
  int64_t call = 0;
  std::optional<int> status;
  std::optional<int> rank;
  int64_t calls = 0;
};

/// The number before `end`, which is cut off `rest`.
std::optional<int64_t> number(std::string_view &rest) {
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc())
    return std::nullopt;
  rest.remove_prefix(static_cast<size_t>(end - rest.data()));
  return value;
}

[[noreturn]] void reject(const char *variable, std::string_view entry) {
  fail(text(variable, ": expected FUNCTION:CALL[=STATUS][@RANK] but got '",
            entry, "'"));
}

Fault parse(const char *variable, std::string_view entry) {
  Fault fault;
  size_t colon = entry.find(':');
  if (colon == std::string_view::npos || colon == 0)
    reject(variable, entry);
  fault.function = entry.substr(0, colon);
  std::string_view rest = entry.substr(colon + 1);
  std::optional<int64_t> call = number(rest);
  if (!call || *call < 0)
    reject(variable, entry);
  fault.call = *call;
  while (!rest.empty()) {
    char mark = rest.front();
    rest.remove_prefix(1);
    std::optional<int64_t> value = number(rest);
    if (!value || (mark != '=' && mark != '@'))
      reject(variable, entry);
    (mark == '=' ? fault.status : fault.rank) = static_cast<int>(*value);
  }
  return fault;
}

/// The rank by the launcher's word: faults may be asked for before MPI_Init.
int64_t launchedRank() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (int64_t rank = environmentNumber(name, -1); rank >= 0)
      return rank;
  return 0;
}

/// The faults that a variable asks of this rank.
std::vector<Fault> requested(const char *variable) {
  std::vector<Fault> faults;
  const char *value = std::getenv(variable);
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    size_t end = std::min(rest.find(','), rest.size());
    Fault fault = parse(variable, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!fault.rank || *fault.rank == launchedRank())
      faults.push_back(std::move(fault));
  }
  return faults;
}

/// The fault that this call of `function` has, if any. Counts the call.
const Fault *count(std::vector<Fault> &faults, std::string_view function) {
  const Fault *hit = nullptr;
  for (Fault &fault : faults) {
    if (fault.function != function)
      continue;
    ++fault.calls;
    if (fault.call == 0 || fault.calls == fault.call)
      hit = &fault;
  }
  return hit;
}

} // namespace

int injectedFailure(const char *function, int otherwise) {
  static std::vector<Fault> faults = requested("SHOAL_EMULATION_FAIL");
  if (faults.empty())
    return 0;
  const Fault *fault = count(faults, function);
  return fault ? fault->status.value_or(otherwise) : 0;
}

bool injectedHang(const char *operation) {
  static std::vector<Fault> faults = requested("SHOAL_EMULATION_HANG");
  std::string_view name = operation;
  return !faults.empty() && count(faults, name.substr(0, name.find(' ')));
}

bool injectedSkip(const char *function) {
  static std::vector<Fault> faults = requested("SHOAL_EMULATION_SKIP");
  return !faults.empty() && count(faults, function);
}

} // namespace shoal::emulation
