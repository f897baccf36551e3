// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sizes that decide between two ways to do the same: from how many bytes on
// threads share a kernel, say.
//
// A program that only knows one side of a threshold tests half of the code.
// What decides by a size asks a Threshold, which notes the sides that were
// asked for; random programs take a census of them
// (`shoal-fuzz --sizes=large --census`). There is no list of thresholds beside
// the code: a new one is in the census once it is declared.

#ifndef SHOAL_SUPPORT_THRESHOLD_H
#define SHOAL_SUPPORT_THRESHOLD_H

#include <atomic>
#include <string>
#include <vector>

namespace shoal::support {

/// Declared once, for the life of the program:
///
///   static const Threshold leastBytes("bytes of a kernel that threads share",
///                                     256 << 10);
///   if (!leastBytes.isReachedBy(bytes))
///     return;
class Threshold {
public:
  /// `name` says of what the size is, in a few words, and is another one's
  /// nowhere; no colon, tab or line end.
  Threshold(const char *name, double value) noexcept;
  Threshold(const Threshold &) = delete;

  /// Whether `size` is as large as the threshold, or larger.
  template <typename T>
  bool isReachedBy(T size) const noexcept {
    bool reached = static_cast<double>(size) >= value;
    std::atomic<bool> &side = reached ? above : below;
    // Mostly known already: threads that ask only read.
    if (!side.load(std::memory_order_relaxed))
      side.store(true, std::memory_order_relaxed);
    return reached;
  }

  const char *const name;
  const double value;

private:
  friend std::string takeSides();
  mutable std::atomic<bool> below = false, above = false;
  const Threshold *const next;
};

/// The sides of one threshold that were asked for.
struct Sides {
  std::string name;
  double value = 0;
  bool below = false, above = false;
};

/// The sides that this process has asked for since the last call, of all
/// thresholds there are: a line of `name:value:below:above` each, the last two
/// 0 or 1.
std::string takeSides();
/// The same, read; lines of another form are left out.
std::vector<Sides> readSides(const std::string &text);

} // namespace shoal::support

#endif // SHOAL_SUPPORT_THRESHOLD_H
