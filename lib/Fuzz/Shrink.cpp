// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Shrink.h"
#include <set>

using namespace shoal::fuzz;

namespace {

using List = std::vector<uint32_t>;

class Shrinker {
public:
  Shrinker(List choices, llvm::function_ref<Choices(List)> replay,
           llvm::function_ref<bool(const List &)> fails, unsigned triesLeft)
      : best(std::move(choices)), replay(replay), fails(fails),
        triesLeft(triesLeft) {}

  List run() {
    bool isSmaller = true;
    while (isSmaller && triesLeft > 0) {
      isSmaller = removeRuns();
      isSmaller |= removeSpans();
      isSmaller |= clearSpans();
      isSmaller |= lowerDraws();
    }
    return best;
  }

private:
  /// Keeps `candidate` where it is smaller and still fails.
  bool accept(List candidate) {
    if (triesLeft == 0)
      return false;
    // What is drawn may be less than what is listed, or lower.
    candidate = replay(std::move(candidate)).getDrawn().vec();
    while (!candidate.empty() && candidate.back() == 0)
      candidate.pop_back();
    bool isSmaller = candidate.size() != best.size()
                         ? candidate.size() < best.size()
                         : candidate < best;
    if (!isSmaller || !tried.insert(candidate).second)
      return false;
    --triesLeft;
    if (!fails(candidate))
      return false;
    best = std::move(candidate);
    return true;
  }

  bool forEachSpan(llvm::function_ref<void(List &, Choices::Span)> edit) {
    bool isSmaller = false;
    Choices made = replay(best);
    size_t count = made.getSpans().size();
    // The last ops first: fewer others build on them.
    for (size_t i = count; i-- > 0;) {
      if (i >= made.getSpans().size())
        continue;
      Choices::Span span = made.getSpans()[i];
      List candidate = made.getDrawn().vec();
      edit(candidate, span);
      if (!accept(std::move(candidate)))
        continue;
      isSmaller = true;
      made = replay(best);
    }
    return isSmaller;
  }

  /// Those numbered [first, last), which may lie in each other.
  static List without(const Choices &made, size_t first, size_t last) {
    std::vector<bool> isGone(made.getDrawn().size(), false);
    for (size_t i = first; i < last; ++i)
      std::fill(isGone.begin() + made.getSpans()[i].begin,
                isGone.begin() + made.getSpans()[i].end, true);
    List kept;
    for (auto [gone, draw] : llvm::zip_equal(isGone, made.getDrawn()))
      if (!gone)
        kept.push_back(draw);
    return kept;
  }

  /// Halves of the spans, then quarters and so on: most of a program has
  /// nothing to do with its failure.
  bool removeRuns() {
    bool isSmaller = false;
    Choices made = replay(best);
    for (size_t length = made.getSpans().size() / 2; length > 1; length /= 2) {
      size_t last = made.getSpans().size();
      while (last >= length) {
        last -= length;
        if (!accept(without(made, last, last + length)))
          continue;
        isSmaller = true;
        made = replay(best);
        last = std::min(last, made.getSpans().size());
      }
    }
    return isSmaller;
  }

  bool removeSpans() {
    return forEachSpan([](List &list, Choices::Span span) {
      list.erase(list.begin() + span.begin, list.begin() + span.end);
    });
  }

  bool clearSpans() {
    return forEachSpan([](List &list, Choices::Span span) {
      std::fill(list.begin() + span.begin, list.begin() + span.end, 0);
    });
  }

  bool lowerDraws() {
    bool isSmaller = false;
    for (size_t i = 0; i < best.size(); ++i) {
      if (best[i] == 0)
        continue;
      uint32_t value = best[i];
      for (uint32_t lower : {uint32_t(0), value / 2, value - 1}) {
        List candidate = best;
        candidate[i] = lower;
        if (lower < value && accept(std::move(candidate))) {
          isSmaller = true;
          break;
        }
      }
    }
    return isSmaller;
  }

  List best;
  std::set<List> tried;
  llvm::function_ref<Choices(List)> replay;
  llvm::function_ref<bool(const List &)> fails;
  unsigned triesLeft;
};

} // namespace

List shoal::fuzz::shrink(List choices, llvm::function_ref<Choices(List)> replay,
                         llvm::function_ref<bool(const List &)> fails,
                         unsigned maxTries) {
  return Shrinker(std::move(choices), replay, fails, maxTries).run();
}
