// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Debug/DebugOptions.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Debug.h"
#include "llvm/Support/ManagedStatic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace {
/// Prints when LLVM shuts down, which MlirOptMain makes it do.
struct StatisticsPrinter {
  ~StatisticsPrinter() { PrintStatistics(errs()); }
};
} // namespace

static ManagedStatic<StatisticsPrinter> printer;

static void enableStatistics() {
  EnableStatistics(/*DoPrintOnExit=*/false);
  // What LLVM keeps them in must be there first, to go away last.
  (void)GetStatistics();
  (void)*printer;
}

#ifndef NDEBUG
/// Called for each of the option's types; LLVM wants all at once.
static void enableDebugType(const std::string &type) {
  static std::vector<std::string> types;
  types.push_back(type);
  std::vector<const char *> names;
  for (const std::string &known : types)
    names.push_back(known.c_str());
  DebugFlag = true;
  setCurrentDebugTypes(names.data(), names.size());
}
#endif

void shoal::registerDebugOptions() {
  static cl::opt<bool> statistics(
      "shoal-statistics", cl::Hidden,
      cl::desc("Print what Shoal's passes counted"),
      cl::callback([](const bool &) { enableStatistics(); }));
#ifndef NDEBUG
  if (cl::getRegisteredOptions().contains("debug-only"))
    return;
  static cl::list<std::string> debugOnly(
      "debug-only", cl::Hidden, cl::CommaSeparated, cl::value_desc("type,..."),
      cl::desc("Print what the passes with these flags decide"),
      cl::callback([](const std::string &type) { enableDebugType(type); }));
#endif
}
