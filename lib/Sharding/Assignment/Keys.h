// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Numbers written one behind the other, as keys of maps; and what makes two ops
// of a problem, or two values, alike, as such.

#ifndef SHOAL_LIB_SHARDING_ASSIGNMENT_KEYS_H
#define SHOAL_LIB_SHARDING_ASSIGNMENT_KEYS_H

#include "shoal/Sharding/Assignment.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Allocator.h"
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::assignment {

/// A key that is looked up often.
class WordKey {
public:
  void add(uint32_t word) { words.push_back(word); }
  void addLong(uint64_t number) {
    add(uint32_t(number));
    add(uint32_t(number >> 32));
  }
  llvm::ArrayRef<uint32_t> list() const { return words; }

private:
  llvm::SmallVector<uint32_t, 32> words;
};

/// A digest of words, one after the other.
class WordDigest {
public:
  void add(uint64_t word) {
    digest = (digest ^ word) * 0x9e3779b97f4a7c15;
    digest ^= digest >> 29;
  }
  uint64_t get() const { return digest; }

private:
  uint64_t digest = 0;
};

/// Numbers keys from 0 on, in the order in which they come. Looking for one
/// that is known allocates nothing.
class WordIds {
public:
  /// The key's number, which is that of how many there were where it is new.
  unsigned idOf(const WordKey &key) {
    WordDigest digest;
    for (uint32_t word : key.list())
      digest.add(word);
    // Of another key with the same digest, if ever, the next one is looked at.
    // Half of all numbers, as a map has two of the others for itself.
    for (uint64_t place = digest.get() / 2;; ++place) {
      auto [it, isNew] = ids.try_emplace(place, keys.size());
      if (isNew)
        keys.push_back(key.list().copy(storage));
      if (keys[it->second] == key.list())
        return it->second;
    }
  }

private:
  llvm::BumpPtrAllocator storage;
  std::vector<llvm::ArrayRef<uint32_t>> keys;
  llvm::DenseMap<uint64_t, unsigned> ids;
};

template <typename T>
void addToKey(T number, std::string &key) {
  key.append(reinterpret_cast<const char *>(&number), sizeof(T));
}

template <typename Range>
void addListToKey(const Range &list, std::string &key) {
  addToKey(uint32_t(list.size()), key);
  for (auto number : list)
    addToKey(number, key);
}

/// Of each value a number: values of equal numbers have equal types and
/// weights, so that their reshards cost the same.
std::vector<unsigned> findValueClasses(const AssignmentProblem &problem);
/// All that what a reshard of the value sends depends on, in elements.
void addShape(const AssignmentProblem::Value &value, std::string &key);

/// All that an op's choices and their prices depend on but its annotation:
/// rule, weight and the classes of its values.
void addOpKey(const AssignmentProblem::Op &op,
              llvm::ArrayRef<unsigned> valueClasses, std::string &key);

/// All that an op's annotation says, with the edge of a region that it may be;
/// of an op without one, that it has none.
void addAnnotationKey(const AssignmentProblem::Op &op, std::string &key);

} // namespace shoal::assignment

#endif // SHOAL_LIB_SHARDING_ASSIGNMENT_KEYS_H
