// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ClusterKeys.h"
#include "shoal/Machine/ClusterFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <fstream>
#include <sstream>
// LLVM is built without exceptions.
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

using namespace shoal;
using namespace shoal::detail;
using llvm::StringRef;
using support::Error;
using support::Result;
using support::Status;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

namespace {

/// Of one file; the first counts.
struct FileErrors {
  std::string file;
  support::Status first;

  void add(const toml::source_region &place, const llvm::Twine &message) {
    if (!first)
      first = Error{
          llvm::formatv("{0}:{1}: {2}", file, place.begin.line, message.str())
              .str()};
  }
};

/// A law, and how an error says it.
struct LawText {
  bool (*holds)(double);
  const char *text;
};

} // namespace

static LawText wordsOf(Law law) {
  switch (law) {
  case Law::Positive:
    return {[](double x) { return x > 0; }, "a number over 0"};
  case Law::NotNegative:
    return {[](double x) { return x >= 0; }, "a number of 0 or more"};
  case Law::Share:
    return {[](double x) { return x > 0 && x <= 1; },
            "a share, over 0 and at most 1"};
  case Law::AtLeastOne:
    return {[](double x) { return x >= 1; }, "a number of 1 or more"};
  case Law::Seconds: // sums of them are in picoseconds, of which 2^63 are 106
                     // days
    return {[](double x) { return x >= 0 && x <= 1; }, "0 to 1 seconds"};
  }
  llvm_unreachable("no such law");
}

static std::string nearest(StringRef word,
                           llvm::ArrayRef<std::string> candidates) {
  auto distance = [&](const std::string &candidate) {
    return word.edit_distance(candidate);
  };
  const auto *best = llvm::min_element(
      candidates, [&](auto &a, auto &b) { return distance(a) < distance(b); });
  return best == candidates.end() ? "" : *best;
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

namespace {

/// The Keys that reads a table.
class TableReader {
public:
  TableReader(const toml::table &table, std::string path, FileErrors &errors)
      : source(table), path(std::move(path)), errors(errors) {}

  void text(const char *name, std::string &value, IsRequired required) {
    if (const toml::node *node = find(name, required)) {
      if (auto *read = node->as_string())
        value = read->get();
      else
        refuse(*node, name, "a string");
    }
  }

  void flag(const char *name, bool &value) {
    if (const toml::node *node = find(name)) {
      if (auto *read = node->as_boolean())
        value = read->get();
      else
        refuse(*node, name, "true or false");
    }
  }

  void number(const char *name, double &value, Law law,
              IsRequired required = IsRequired::No) {
    if (const toml::node *node = find(name, required))
      readNumber(*node, name, law, value);
  }

  void number(const char *name, int64_t &value, Law law,
              IsRequired required = IsRequired::No) {
    const toml::node *node = find(name, required);
    double read = static_cast<double>(value);
    if (!node || !readNumber(*node, name, law, read))
      return;
    // A cluster of 2^40 devices is none, and products of sizes stay exact.
    if (!node->is_integer() || read > static_cast<double>(int64_t(1) << 40))
      refuse(*node, name, "a whole number, at most 2^40");
    else
      value = static_cast<int64_t>(read);
  }

  void numbers(const char *name, std::array<double, 3> &values, Law law) {
    const toml::node *node = find(name);
    if (!node)
      return;
    const toml::array *array = node->as_array();
    if (!array || array->size() != values.size())
      return refuse(*node, name, "three numbers, of m, n and k");
    for (auto [place, value] : llvm::enumerate(values))
      readNumber(*array->get(place), name, law, value);
  }

  void curve(const char *name, Curve &curve, Law law) {
    const toml::node *node = find(name);
    if (!node)
      return;
    const toml::array *array = node->as_array();
    if (!array || array->empty())
      return refuse(*node, name, "pairs of numbers, as [[1e3, 0.1], [1e6, 1]]");
    for (const toml::node &point : *array)
      readPoint(point, name, law, curve);
  }

  template <typename Enum, size_t N>
  void choice(const char *name, Enum &value,
              const std::pair<const char *, Enum> (&names)[N]) {
    const toml::node *node = find(name, IsRequired::Yes);
    if (!node)
      return;
    auto *word = node->as_string();
    auto isIt = [&](const auto &each) { return word->get() == each.first; };
    auto found = word ? llvm::find_if(names, isIt) : std::end(names);
    if (found != std::end(names))
      value = found->second;
    else
      refuse(*node, name,
             "one of " + llvm::join(llvm::make_first_range(names), ", "));
  }

  template <typename Visit>
  void table(const char *name, Visit visit) {
    if (const toml::node *node = find(name, IsRequired::Yes))
      readTable(*node, name, visit);
  }

  void byName(const char *name, std::map<std::string, double> &values,
              Law law) {
    const toml::node *node = find(name);
    if (!node)
      return;
    const toml::table *inner = node->as_table();
    if (!inner)
      return refuse(*node, name, "a table of numbers");
    for (auto &&[key, value] : *inner)
      readNumber(value, std::string(key.str()), law,
                 values[std::string(key.str())]);
  }

  /// One number is that of all kinds.
  void byKind(const char *name, std::map<CollectiveKind, double> &values,
              Law law) {
    const toml::node *node = find(name);
    if (!node)
      return;
    if (const toml::table *inner = node->as_table()) {
      TableReader reader(*inner, pathOf(name), errors);
      for (auto [word, kind] : kCollectiveNames)
        if (const toml::node *value = reader.find(word))
          reader.readNumber(*value, word, law, values[kind]);
      return reader.refuseUnknown();
    }
    double all = 1;
    if (readNumber(*node, name, law, all))
      for (CollectiveKind kind : kCollectiveKinds)
        values[kind] = all;
  }

  template <typename T, typename Visit>
  void list(const char *name, std::vector<T> &values, Visit visit) {
    const toml::node *node = find(name);
    if (!node)
      return;
    const toml::array *array = node->as_array();
    if (!array)
      return refuse(*node, name,
                    "a list of tables, as [[" + pathOf(name) + "]]");
    for (const toml::node &each : *array)
      readTable(each, name, [&](TableReader &inner) {
        visit(inner, values.emplace_back());
      });
  }

  /// To be called behind all others.
  void refuseUnknown() {
    for (auto &&[key, value] : source) {
      StringRef name(key.str().data(), key.str().size());
      if (!llvm::is_contained(known, name))
        errors.add(key.source(),
                   llvm::formatv("unknown key \"{0}\"; nearest: \"{1}\"",
                                 pathOf(name), pathOf(nearest(name, known))));
    }
  }

private:
  const toml::node *find(StringRef name, IsRequired required = IsRequired::No) {
    known.push_back(name.str());
    const toml::node *node = source.get(std::string_view(name));
    if (!node && required == IsRequired::Yes)
      errors.add(source.source(), "missing key \"" + pathOf(name) + "\"");
    return node;
  }

  std::string pathOf(StringRef name) const {
    return path.empty() ? name.str() : path + "." + name.str();
  }

  void refuse(const toml::node &node, StringRef name,
              const llvm::Twine &expected) {
    errors.add(node.source(), pathOf(name) + ": expected " + expected);
  }

  bool readNumber(const toml::node &node, StringRef name, Law law,
                  double &value) {
    std::optional<double> read = node.value<double>();
    bool isNumber = read && (node.is_integer() || node.is_floating_point());
    LawText must = wordsOf(law);
    if (!isNumber || !std::isfinite(*read) || !must.holds(*read)) {
      refuse(node, name, must.text);
      return false;
    }
    value = *read;
    return true;
  }

  void readPoint(const toml::node &node, StringRef name, Law law,
                 Curve &curve) {
    const toml::array *pair = node.as_array();
    if (!pair || pair->size() != 2)
      return refuse(node, name, "pairs of numbers");
    double x = 0, y = 0;
    if (!readNumber(*pair->get(0), name, Law::Positive, x) ||
        !readNumber(*pair->get(1), name, law, y))
      return;
    if (!curve.empty() && x <= curve.back().first)
      return refuse(node, name, "points whose first numbers rise");
    curve.emplace_back(x, y);
  }

  template <typename Visit>
  void readTable(const toml::node &node, StringRef name, Visit visit) {
    const toml::table *inner = node.as_table();
    if (!inner)
      return refuse(node, name, "a table");
    TableReader reader(*inner, pathOf(name), errors);
    visit(reader);
    reader.refuseUnknown();
  }

  const toml::table &source;
  std::string path;
  FileErrors &errors;
  llvm::SmallVector<std::string> known;
};

} // namespace

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// More bytes take longer, whatever their share of the bandwidth.
static Status checkShares(const Curve &shares, const std::string &place,
                          StringRef file) {
  auto isSlower = [](const auto &fewer, const auto &more) {
    return fewer.first / fewer.second > more.first / more.second;
  };
  auto fewer = std::ranges::adjacent_find(shares, isSlower);
  if (fewer == shares.end())
    return std::nullopt;
  return Error{llvm::formatv("{0}: {1} {2} bytes take longer than {3}", file,
                             place, fewer->first, std::next(fewer)->first)};
}

/// Whether it is called like an element type of MLIR, "bf16", "f8E4M3FN", "i8";
/// others are of no program.
static bool isTypeName(StringRef name) {
  StringRef bits = name;
  return (bits.consume_front("bf") || bits.consume_front("tf") ||
          bits.consume_front("f") || bits.consume_front("i")) &&
         !bits.empty() && llvm::isDigit(bits.front());
}

/// What laws of single keys do not say.
static Status check(const Cluster &cluster, StringRef file) {
  if (cluster.levels.empty())
    return Error{file.str() + ": expected at least one [[level]]"};
  int64_t devices = 1;
  for (const Level &level : cluster.levels)
    if (llvm::MulOverflow(devices, level.size, devices) || devices > int64_t(1)
                                                                         << 40)
      return Error{file.str() +
                   ": expected at most 2^40 devices of all levels"};
  if (cluster.chip.reserved >= cluster.chip.memory)
    return Error{llvm::formatv("{0}: expected chip.reserved below chip.memory, "
                               "but {1:e2} is not below {2:e2}",
                               file, cluster.chip.reserved,
                               cluster.chip.memory)};
  for (const auto &[type, flops] : cluster.chip.flops)
    if (!isTypeName(type))
      return Error{file.str() + ": chip.flops: \"" + type +
                   "\" is no element type, as bf16, f8E4M3FN or i8"};
  if (cluster.chip.flops.empty())
    return Error{file.str() +
                 ": expected flops of at least one type in chip.flops"};
  if (Status failed =
          checkShares(cluster.chip.memoryShare, "chip: by memory_points", file))
    return failed;
  for (const Level &level : cluster.levels)
    if (Status failed =
            checkShares(level.messageShare,
                        "level \"" + level.name + "\": by bw_points", file))
      return failed;
  return std::nullopt;
}

Result<Cluster> shoal::parseCluster(std::string_view text,
                                    std::string_view name) {
  toml::parse_result parsed = toml::parse(text);
  FileErrors errors{std::string(name), std::nullopt};
  if (!parsed) {
    errors.add(parsed.error().source(),
               std::string(parsed.error().description()));
    return *errors.first;
  }
  Cluster cluster;
  TableReader reader(parsed.table(), "", errors);
  visitKeys(reader, cluster);
  reader.refuseUnknown();
  if (!errors.first)
    errors.first = check(cluster, errors.file);
  if (errors.first)
    return *errors.first;
  return cluster;
}

Result<Cluster> shoal::readCluster(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  // An empty file has no character to insert.
  if (file.peek() != std::ifstream::traits_type::eof())
    text << file.rdbuf();
  if (!file.is_open() || file.bad() || !text)
    return Error{"cannot read " + path};
  return parseCluster(text.str(), path);
}
