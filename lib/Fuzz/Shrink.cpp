// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Fuzz/Shrink.h"

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
      isSmaller = removeSpans();
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
    if (!isSmaller)
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
