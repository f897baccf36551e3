// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a plan sends, said so that plans of nearly the same program compare.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_SENTFACTS_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_SENTFACTS_H

#include "Extract.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>
#include <set>

namespace shoal {

class Copies;

/// Numbers of a program's ops and values, equal in copies of it that are
/// numbered before they are changed. What an annotation makes has the number
/// of what it is of.
class ProgramNumbers {
public:
  explicit ProgramNumbers(mlir::func::FuncOp function);

  mlir::Value value(unsigned number) const { return values[number]; }
  mlir::Operation *op(unsigned number) const { return ops[number]; }
  unsigned numberOf(mlir::Value value) const { return ids.at(value); }
  /// Its own, also of what an annotation makes: that of value().
  unsigned placeOf(mlir::Value value) const { return places.at(value); }
  unsigned numberOf(mlir::Operation *op) const { return opIds.at(op); }
  /// What is new is as something that was there.
  void alias(mlir::Value value, unsigned number) { ids[value] = number; }

private:
  std::vector<mlir::Value> values;
  std::vector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Value, unsigned> ids, places;
  llvm::DenseMap<mlir::Operation *, unsigned> opIds;
};

/// The program's numbers of a problem's values and ops: copies of an op have
/// its number. Ops of the problem that stand for an argument, a result, or the
/// annotation that a change added, have none.
struct ProblemNumbers {
  ProblemNumbers(const ExtractedProblem &extracted,
                 const ProgramNumbers &program, const Copies &copies);

  std::vector<unsigned> values;
  std::vector<std::optional<unsigned>> ops;
};

struct SentFacts {
  /// Values, by the program's numbers, and where they are sent to.
  std::set<std::pair<unsigned, std::string>> reshards;
  /// Ops that send by themselves, by the program's numbers.
  llvm::DenseSet<unsigned> exchanges;
  /// Of each of both what a device sends in all runs, and their sum.
  std::vector<double> bytes;
  double total = 0;

  /// How many send as much.
  size_t countAlike(double other) const;
};

SentFacts listSent(const AssignmentProblem &problem, const Assignment &plan,
                   const ProblemNumbers &numbers);

/// The sum of what a device sends.
double countSent(const AssignmentProblem &problem, const Assignment &plan);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_SENTFACTS_H
