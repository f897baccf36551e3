// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The source of every random decision of a program: a list of small numbers.
//
// A program is a function of the list alone. So a program can be made again
// from its list, and a smaller list makes a smaller program that is still
// valid: shrinking needs to know nothing of ops. (The idea of Hypothesis:
// MacIver and Donaldson, "Test-case reduction via test-case generation",
// ECOOP 2020.)

#ifndef SHOAL_FUZZ_CHOICES_H
#define SHOAL_FUZZ_CHOICES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include <cstdint>
#include <vector>

namespace shoal::fuzz {

/// splitmix64's output function.
uint64_t mix(uint64_t value);

class Choices {
public:
  /// Draws at random.
  explicit Choices(uint64_t seed) : state(seed) {}
  /// Draws what is listed, then zeros.
  explicit Choices(std::vector<uint32_t> recorded)
      : replay(std::move(recorded)), isReplay(true) {}

  /// A number in [0, n), n >= 1. Zero ought to be the simplest choice.
  uint32_t below(uint32_t n);
  /// A number in [low, high].
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  /// True in so many of 100 cases; false is the simpler choice.
  bool chance(unsigned percent) { return below(100) >= 100 - percent; }
  template <typename Range>
  auto pick(const Range &options) {
    return options[below(std::size(options))];
  }
  /// In random order; zeros leave the order as it is.
  template <typename List>
  void shuffle(List &list) {
    for (size_t i = 0; i + 1 < list.size(); ++i)
      std::swap(list[i], list[i + below(list.size() - i)]);
  }

  /// Draws that belong together, such as those of an op: what a shrinker
  /// removes at once.
  struct Span {
    size_t begin, end;
  };
  class Scope {
  public:
    explicit Scope(Choices &choices)
        : choices(choices), begin(choices.drawn.size()) {}
    ~Scope() { choices.spans.push_back({begin, choices.drawn.size()}); }

  private:
    Choices &choices;
    size_t begin;
  };

  llvm::ArrayRef<uint32_t> getDrawn() const { return drawn; }
  llvm::ArrayRef<Span> getSpans() const { return spans; }

private:
  uint64_t state = 0;
  std::vector<uint32_t> replay, drawn;
  std::vector<Span> spans;
  bool isReplay = false;
};

} // namespace shoal::fuzz

#endif // SHOAL_FUZZ_CHOICES_H
