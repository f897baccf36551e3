// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ClusterKeys.h"
#include "shoal/Machine/ClusterFile.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>

using namespace shoal;
using namespace shoal::detail;

/// The shortest text that is read as the same number.
static std::string numberText(double value) {
  char text[32];
  auto [end, error] = std::to_chars(text, text + sizeof(text), value);
  std::string number(text, end);
  // What has neither is an integer in TOML.
  return llvm::StringRef(number).find_first_of(".e") == llvm::StringRef::npos
             ? number + ".0"
             : number;
}

static std::string quoted(llvm::StringRef text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  return out + "\"";
}

template <typename Range>
static std::string listOf(const Range &values) {
  return "[" + llvm::join(llvm::map_range(values, numberText), ", ") + "]";
}

namespace {

/// The Keys that writes tables. Those within one come behind its other keys,
/// where TOML wants them.
class TableWriter {
public:
  explicit TableWriter(std::string path) : path(std::move(path)) {}

  void text(const char *name, const std::string &value, IsRequired) {
    if (!value.empty())
      line(name, quoted(value));
  }
  void flag(const char *name, bool value) {
    line(name, value ? "true" : "false");
  }
  void number(const char *name, double value, Law,
              IsRequired = IsRequired::No) {
    line(name, numberText(value));
  }
  void number(const char *name, int64_t value, Law,
              IsRequired = IsRequired::No) {
    line(name, std::to_string(value));
  }
  void numbers(const char *name, const std::array<double, 3> &values, Law) {
    line(name, listOf(values));
  }
  void curve(const char *name, const Curve &curve, Law) {
    if (curve.empty())
      return;
    auto points = llvm::map_range(curve, [](const auto &point) {
      return listOf(std::array{point.first, point.second});
    });
    line(name, "[" + llvm::join(points, ", ") + "]");
  }
  template <typename Enum, size_t N>
  void choice(const char *name, Enum value,
              const std::pair<const char *, Enum> (&names)[N]) {
    for (auto &[word, each] : names)
      if (each == value)
        line(name, quoted(word));
  }
  void byName(const char *name, const std::map<std::string, double> &values,
              Law) {
    line(name, "{ " +
                   llvm::join(llvm::map_range(values,
                                              [](const auto &each) {
                                                return quoted(each.first) +
                                                       " = " +
                                                       numberText(each.second);
                                              }),
                              ", ") +
                   " }");
  }
  void byKind(const char *name, const std::map<CollectiveKind, double> &values,
              Law law) {
    if (values.empty())
      return;
    std::map<std::string, double> named;
    for (auto [kind, value] : values)
      named[nameOf(kind)] = value;
    byName(name, named, law);
  }
  template <typename Visit>
  void table(const char *name, Visit visit) {
    addTable(name, "[", "]", visit);
  }
  template <typename T, typename Visit>
  void list(const char *name, std::vector<T> &values, Visit visit) {
    for (T &value : values)
      addTable(name, "[[", "]]",
               [&](TableWriter &inner) { visit(inner, value); });
  }

  std::string take() { return lines + tables; }

private:
  void line(llvm::StringRef name, const std::string &value) {
    lines += name.str() + " = " + value + "\n";
  }
  template <typename Visit>
  void addTable(llvm::StringRef name, const char *open, const char *close,
                Visit visit) {
    std::string inside = path.empty() ? name.str() : path + "." + name.str();
    TableWriter inner(inside);
    visit(inner);
    tables += "\n" + std::string(open) + inside + close + "\n" + inner.take();
  }

  std::string path, lines, tables;
};

} // namespace

std::string shoal::writeCluster(const Cluster &cluster) {
  TableWriter writer("");
  Cluster written = cluster;
  visitKeys(writer, written);
  return writer.take();
}
