// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines of a tensor that threads share, with memory for some of them.

#ifndef SHOAL_LIB_RUNTIME_CPU_SHAREDLINES_H
#define SHOAL_LIB_RUNTIME_CPU_SHAREDLINES_H

#include "Threads.h"
#include "shoal/Calls/Lines.h"

namespace shoal::rt {

/// As many parts as lines have memory for, by calls::linesAtOnce: the compiler
/// has taken it without knowing how many threads there are.
class SharedLines {
public:
  /// A line costs `lineBytes`.
  SharedLines(int64_t lines, double lineBytes)
      : lines(lines), lineBytes(lineBytes), count(calls::linesAtOnce(lines)) {}

  int64_t parts() const { return count; }

  /// Calls body(line, part) for all lines, those of a part one after another.
  template <typename Body>
  void forEach(const Body &body) const {
    double partBytes =
        lineBytes * static_cast<double>(lines) / static_cast<double>(count);
    parallelFor({count, partBytes}, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part)
        for (int64_t line = lines * part / count;
             line < lines * (part + 1) / count; ++line)
          body(line, part);
    });
  }

private:
  int64_t lines;
  double lineBytes;
  int64_t count;
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_SHAREDLINES_H
