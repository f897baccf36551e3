// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Report.h"
#include "shoal/Fuzz/Check.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shoal::fuzz;
using llvm::StringRef;

static constexpr char kSeparator = '\x1f';

std::string ItemReport::encode() const {
  return signature + kSeparator + message + kSeparator + census.encode();
}

ItemReport ItemReport::decode(const Outcome &outcome) {
  ItemReport report;
  if (!outcome.isFinished) {
    Finding finding{outcome.stage, outcome.text};
    report.message = outcome.stage + ": " + outcome.text;
    report.signature = finding.signature();
    return report;
  }
  llvm::SmallVector<StringRef> parts;
  StringRef(outcome.text).split(parts, kSeparator);
  report.signature = parts[0].str();
  report.message = parts[1].str();
  report.census = Census::decode(parts[2]);
  return report;
}

bool RunReport::add(uint64_t item, const ItemReport &report) {
  ++items;
  census += report.census;
  if (report.signature.empty())
    return false;
  ++failed;
  llvm::outs() << itemName << ' ' << item << ": " << report.message << '\n';
  llvm::outs().flush();
  std::vector<uint64_t> &same = failures[report.signature];
  same.push_back(item);
  return same.size() == 1;
}

template <typename Count, typename Map>
static auto byFrequency(const Map &map, Count count) {
  std::vector<typename Map::const_iterator> order;
  for (auto it = map.begin(); it != map.end(); ++it)
    order.push_back(it);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) {
    return std::pair(count(*b), a->first) < std::pair(count(*a), b->first);
  });
  return order;
}

void RunReport::printSummary(llvm::raw_ostream &os) const {
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  if (!census.getCounts().empty())
    census.print(os);
  if (printsSizes)
    census.printSizes(os);
  for (auto it :
       byFrequency(failures, [](auto &e) { return e.second.size(); })) {
    os << llvm::formatv("{0} times {1}\n  {2}s:", it->second.size(), it->first,
                        itemName);
    for (uint64_t item : llvm::ArrayRef(it->second).take_front(8))
      os << ' ' << item;
    os << (it->second.size() > 8 ? " ...\n" : "\n");
  }
  os << llvm::formatv("{0} {1}s, {2} failed, {3:F1} seconds, {4:F1} a second\n",
                      items, itemName, failed, seconds.count(),
                      items / std::max(seconds.count(), 1e-3));
}
