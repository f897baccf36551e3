// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Keys.h"
#include "ValueOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace shoal;
using namespace shoal::assignment;

using Op = AssignmentProblem::Op;

//===----------------------------------------------------------------------===//
// Colours
//===----------------------------------------------------------------------===//

/// Far enough to tell the products of one attention from each other, and near
/// enough that the first and the last layer colour few others.
static constexpr unsigned kRounds = 4;

Colours::Colours(const AssignmentProblem &problem, const ValueOps &valueOps) {
  std::vector<unsigned> valueClasses = findValueClasses(problem);
  llvm::StringMap<unsigned> ids;
  for (const Op &op : problem.ops) {
    std::string key;
    addOpKey(op, valueClasses, key);
    addAnnotationKey(op, key);
    kinds.push_back(ids.try_emplace(key, ids.size()).first->second);
  }
  colours = kinds;
  for (unsigned round = 0; round < kRounds; ++round)
    refine(problem, valueOps);
}

void Colours::refine(const AssignmentProblem &problem,
                     const ValueOps &valueOps) {
  std::vector<uint64_t> refined;
  for (auto [id, op] : llvm::enumerate(problem.ops)) {
    WordDigest digest;
    digest.add(colours[id]);
    for (unsigned value : op.operands)
      digest.add(colours[valueOps.makerOf[value]]);
    for (unsigned value : op.results) {
      // In any order: a sum.
      uint64_t users = 0;
      for (unsigned user : valueOps.usersOf[value]) {
        WordDigest own;
        own.add(colours[user]);
        users += own.get();
      }
      digest.add(users);
    }
    refined.push_back(digest.get());
  }
  colours = std::move(refined);
}

//===----------------------------------------------------------------------===//
// Shifts
//===----------------------------------------------------------------------===//

namespace {
class ShiftWalk {
public:
  ShiftWalk(const AssignmentProblem &problem, const ValueOps &valueOps,
            const Colours &colours)
      : problem(problem), valueOps(valueOps), colours(colours),
        shift(problem.ops.size()) {}
  /// The shift that takes one op to the other, as far as neighbours are alike.
  Shift run(unsigned from, unsigned to);

private:
  void match(unsigned from, unsigned to);
  void matchUsers(unsigned from, unsigned to);
  /// The users of a value, by colour or by kind, and by the operand that they
  /// read it as.
  using Users = llvm::MapVector<std::pair<uint64_t, unsigned>,
                                llvm::SmallVector<unsigned, 2>>;
  Users usersOf(unsigned value, llvm::ArrayRef<uint64_t> by) const;
  void matchUsers(unsigned from, unsigned to, llvm::ArrayRef<uint64_t> by);

  const AssignmentProblem &problem;
  const ValueOps &valueOps;
  const Colours &colours;
  Shift shift;
  /// Matched ops whose neighbours are to be matched, nearest first.
  std::vector<unsigned> work;
};
} // namespace

void ShiftWalk::match(unsigned from, unsigned to) {
  if (from == to || shift.next[from] != kNoOp || shift.previous[to] != kNoOp ||
      colours.kinds[from] != colours.kinds[to])
    return;
  shift.next[from] = to;
  shift.previous[to] = from;
  work.push_back(from);
}

ShiftWalk::Users ShiftWalk::usersOf(unsigned value,
                                    llvm::ArrayRef<uint64_t> by) const {
  Users users;
  for (unsigned user : valueOps.usersOf[value]) {
    const Op &op = problem.ops[user];
    unsigned operand = llvm::find(op.operands, value) - op.operands.begin();
    llvm::SmallVector<unsigned, 2> &same = users[{by[user], operand}];
    if (!llvm::is_contained(same, user)) // reads it twice
      same.push_back(user);
  }
  return users;
}

void ShiftWalk::matchUsers(unsigned from, unsigned to,
                           llvm::ArrayRef<uint64_t> by) {
  Users users = usersOf(from, by), others = usersOf(to, by);
  for (auto &[key, same] : users) {
    auto *found = others.find(key);
    if (found == others.end() || found->second.size() != same.size())
      continue;
    for (auto [user, other] : llvm::zip_equal(same, found->second))
      match(user, other);
  }
}

Shift ShiftWalk::run(unsigned from, unsigned to) {
  match(from, to);
  for (size_t done = 0; done < work.size();) { // matches add to it
    unsigned op = work[done++], other = shift.next[op];
    for (auto [value, image] :
         llvm::zip_equal(problem.ops[op].operands, problem.ops[other].operands))
      match(valueOps.makerOf[value], valueOps.makerOf[image]);
    for (auto [value, image] :
         llvm::zip_equal(problem.ops[op].results, problem.ops[other].results)) {
      matchUsers(value, image, colours.colours);
      matchUsers(value, image, colours.kinds);
    }
  }
  return std::move(shift);
}

Shift assignment::findShift(const AssignmentProblem &problem,
                            const ValueOps &valueOps, const Colours &colours,
                            unsigned from, unsigned to) {
  return ShiftWalk(problem, valueOps, colours).run(from, to);
}
