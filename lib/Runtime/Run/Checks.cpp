// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Checks.h"
#include "../Program/Fatal.h"

#include <cstring>
#include <ranges>
#include <utility>

namespace shoal::rt {

using calls::CheckCall;
using calls::CheckRole;
using calls::IterationEvent;
using support::Block;

/// A loop that waits for what a NaN keeps from coming would not end.
static constexpr std::chrono::seconds patience{30};
/// Values that are compared at once. All ranks come to so many at the same one.
static constexpr size_t maxRecords = 4096;

static constexpr uint8_t nanFlag = 1, infFlag = 2;

Checks &Checks::get() {
  static Checks checks;
  return checks;
}

void Checks::beginStep(World &ofProgram, const Program &program) {
  world = &ofProgram;
  isOn = program.checks != 0;
  ++step;
  order = 0;
  loops.clear();
  flags.assign(flags.size(), 0);
}

void Checks::count(const calls::IterationCall &call) {
  auto depth = static_cast<size_t>(call.depth);
  if (call.event == IterationEvent::Next) {
    if (depth < loops.size())
      ++loops[depth].iteration;
    return;
  }
  loops.resize(std::min(loops.size(), depth));
  if (call.event == IterationEvent::Begin)
    loops.push_back({call.place, -1});
}

std::string Checks::loopText() const {
  std::string text;
  for (const auto &loop : std::views::reverse(loops)) {
    text += ", in iteration " + std::to_string(loop.iteration) + " of the loop";
    if (!loop.place.empty())
      text += " at " + loop.place;
  }
  return text;
}

void Checks::check(const CheckCall &call, const Topology &ofDevice,
                   const char *data) {
  topology = &ofDevice;
  Block block = findBlock(call, ofDevice);
  if (call.findsNaN || call.findsInf)
    checkFinite(call, block, data);
  if (call.comparesReplicas) {
    records.push_back(
        {&call, order, hashElements(call, block, data), loopText()});
    if (records.size() == maxRecords)
      compareReplicas();
  }
  ++order;
}

//===----------------------------------------------------------------------===//
// NaN and infinities
//===----------------------------------------------------------------------===//

/// `[3, 5]`; empty for a scalar.
static std::string indexText(const std::vector<int64_t> &index) {
  std::string text;
  for (int64_t i : index)
    text += (text.empty() ? "[" : ", ") + std::to_string(i);
  return text.empty() ? text : " " + text + "]";
}

static std::string describe(const CheckCall &call, const NonFinite &found,
                            const std::string &loops, int64_t rank) {
  bool isInput = call.role == CheckRole::Input;
  std::string text = isInput ? "input \"" + call.what + "\" holds " : call.what;
  if (!isInput)
    text += (call.place.empty() ? "" : " at " + call.place) + " makes ";
  text += found.hasNaN ? "NaN" : "infinity";
  text += ": element" + indexText(found.first) + " of " +
          support::formatTensor(call.type, call.blocks.whole) + ", on rank " +
          std::to_string(rank) + loops;
  if (found.count > 1)
    text += " (and " + std::to_string(found.count - 1) +
            " more of the rank's elements)";
  return text;
}

/// An op makes what it has and none of its sources had. What comes of a NaN is
/// its.
static bool isMadeHere(const CheckCall &call, const NonFinite &found,
                       uint8_t before) {
  if (call.role == CheckRole::Joined)
    return false;
  if (found.hasNaN && call.findsNaN && !(before & nanFlag))
    return true;
  return found.hasInf && call.findsInf && before == 0 &&
         call.role == CheckRole::Made;
}

void Checks::checkFinite(const CheckCall &call, const Block &block,
                         const char *data) {
  if (nonFinite) {
    if (std::chrono::steady_clock::now() - nonFinite->time > patience)
      fatal(nonFinite->text);
    return;
  }
  NonFinite found = findNonFinite(call, block, data);
  auto number = static_cast<size_t>(call.value);
  if (flags.size() <= number)
    flags.resize(number + 1);
  flags[number] = (found.hasNaN ? nanFlag : 0) | (found.hasInf ? infFlag : 0);
  if (flags[number] == 0)
    return;
  uint8_t before =
      (call.assumesNaN ? nanFlag : 0) | (call.assumesInf ? infFlag : 0);
  for (int64_t source : call.sources)
    if (static_cast<size_t>(source) < flags.size())
      before |= flags[source];
  if (isMadeHere(call, found, before))
    nonFinite = Finding{order,
                        "step " + std::to_string(step) + ": " +
                            describe(call, found, loopText(), world->rank()),
                        std::chrono::steady_clock::now()};
}

//===----------------------------------------------------------------------===//
// What all ranks have found
//===----------------------------------------------------------------------===//

void Checks::compareReplicas() {
  std::vector<uint64_t> own;
  own.reserve(records.size());
  for (const ReplicaRecord &record : records)
    own.push_back(record.hash);
  std::string all;
  world->gather({reinterpret_cast<const char *>(own.data()),
                 own.size() * sizeof(uint64_t)},
                [&](std::string_view piece) { all += piece; });
  std::string told;
  if (world->isRoot() && !difference) {
    std::vector<uint64_t> hashes(all.size() / sizeof(uint64_t));
    std::memcpy(hashes.data(), all.data(), all.size());
    bool areAsMany = hashes.size() == own.size() * world->size();
    if (auto found = areAsMany ? findDifference(records, hashes, *topology)
                               : std::nullopt)
      told = std::to_string(found->order) + " " + found->text;
    else if (!areAsMany)
      told = std::to_string(order) + " ranks have looked at different values";
  }
  records.clear();
  told = world->broadcast(told);
  if (told.empty() || difference)
    return;
  size_t space = told.find(' ');
  difference = ReplicaDifference{std::stoll(told.substr(0, space)),
                                 "step " + std::to_string(step) + ": " +
                                     told.substr(space + 1)};
}

Status Checks::endStep() {
  if (!isOn)
    return std::nullopt;
  compareReplicas();
  std::optional<Finding> mine = std::exchange(nonFinite, std::nullopt);
  std::optional<ReplicaDifference> other =
      std::exchange(difference, std::nullopt);
  // The first of all ranks is the largest of the negative ones.
  constexpr int64_t never = int64_t(1) << 52;
  std::vector<double> first = {
      -static_cast<double>(mine ? mine->order : never)};
  world->maximum(first);
  auto order = static_cast<int64_t>(-first[0]);
  if (other && other->order <= order)
    return Error{other->text};
  Status status;
  if (mine && mine->order == order)
    status = Error{mine->text};
  return world->agree(status);
}

} // namespace shoal::rt
