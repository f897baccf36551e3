// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The compiler on texts: what the Python module offers, without Python.

#ifndef SHOAL_PYTHON_NATIVE_COMPILE_H
#define SHOAL_PYTHON_NATIVE_COMPILE_H

#include "Diagnostics.h"
#include "shoal/Compiler/Driver.h"
#include <functional>

namespace shoal::python {

/// Told of each stage when it begins. It may throw, which ends the compilation.
using OnStage = std::function<void(const std::string &stage)>;

/// What a call gives back; `text` and the rest only where `succeeded`.
struct Outcome {
  bool succeeded = false;
  std::vector<Message> messages;
  /// A program.
  std::string text;
  /// JSON: the metadata of shoal/Runtime/ABI.h, and that of `shoalc --stats`.
  std::string description, statistics;
  /// A page of HTML.
  std::string report;
  /// JSON: a forecast with its rows.
  std::string forecast;
};

/// Holds a text of any dialects to what MLIR's parser does not hold it to, see
/// shoal/Transforms/Import/TextLimits.h.
Outcome verifyLimits(const std::string &text, const std::string &source);

/// Parses, verifies and prints. `source` is what messages call the text.
Outcome format(const std::string &text, const std::string &source,
               bool withLocations, bool generic);

/// The program of one device, printed.
Outcome partitionText(const std::string &text, const std::string &source,
                      const DriverOptions &options, bool withLocations,
                      const OnStage &onStage);

/// Compiles and writes an executable to `executable` and a shared library to
/// `shared`, each unless it is empty; then describes the program, on request
/// with the report's page. A summary is written in the executable's place.
Outcome compileText(const std::string &text, const std::string &source,
                    DriverOptions options, const std::string &executable,
                    const std::string &shared, bool withReport, bool isSummary,
                    const OnStage &onStage);

/// Compiles without writing anything and forecasts a step on the cluster of the
/// machine file that the options name.
Outcome simulateText(const std::string &text, const std::string &source,
                     DriverOptions options, const OnStage &onStage);

} // namespace shoal::python

#endif // SHOAL_PYTHON_NATIVE_COMPILE_H
