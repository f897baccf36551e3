// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PatchOrder.h"
#include "shoal/Support/Threshold.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace shoal;
using Letters = ConvolutionLetters::Letters;

/// Fewer columns than that do not fill the vectors of a product's inner
/// kernels.
static const support::Threshold
    fewColumns("rows of a convolution's operand in a line of its product", 16),
    enoughColumns("rows of a convolution's operand in a product", 64);

Letters ConvolutionLetters::terms() const {
  Letters letters;
  for (char letter : kernel)
    if (letter != 'g' && letter != 'o')
      letters.push_back(letter);
  return letters;
}

/// How many elements of the operand a copy along a letter moves at once, where
/// there are so many steps and so far between them. Those that lie apart take a
/// vector's lanes one by one.
static int64_t runOf(int64_t steps, int64_t distance) {
  return steps / std::min<int64_t>(distance, 4);
}

/// The letter that is last in the patches; 0 if none gains.
static char findDense(const ConvolutionLetters &letters) {
  for (char letter : llvm::reverse(letters.input)) {
    if (!ConvolutionLetters::isRow(letter)) {
      if (letters.sizeOf(letter) > 1)
        return letter;
      continue;
    }
    char place = ConvolutionLetters::placeOf(letter);
    int64_t rows = letters.sizeOf(letter), places = letters.sizeOf(place);
    if (rows == 1 && places == 1)
      continue;
    const WindowDim &dim = letters.window[letter - '0'];
    return runOf(rows, dim.stride) >= runOf(places, dim.windowDilation) ? letter
                                                                        : place;
  }
  return 0;
}

static void moveLast(Letters &letters, char letter) {
  auto *found = llvm::find(letters, letter);
  if (found != letters.end())
    std::rotate(found, found + 1, letters.end());
}

/// Behind the first letter, which parts of a product are cut from, groups are
/// loops over matrices.
static void moveGroupsForward(Letters &letters) {
  auto *found = llvm::find(letters, 'g');
  if (found != letters.end() && found - letters.begin() > 1)
    std::rotate(letters.begin() + 1, found, found + 1);
}

static void append(Letters &letters, llvm::ArrayRef<char> others) {
  letters.append(others.begin(), others.end());
}

/// Where in `rows` those begin that are columns of one product: where `o`
/// stands in the result, so that this is made as it lies, or so far from the
/// end that they are enough.
static size_t findColumns(const ConvolutionLetters &letters,
                          llvm::ArrayRef<char> rows) {
  auto sizeFrom = [&](size_t begin) {
    int64_t size = 1;
    for (char letter : rows.drop_front(begin))
      size *= letters.sizeOf(letter);
    return size;
  };
  size_t behind = llvm::find(letters.result, 'o') - letters.result.begin();
  Letters natural;
  append(natural, llvm::ArrayRef<char>(letters.result).drop_front(behind + 1));
  if (!natural.empty() && !llvm::is_contained(natural, 'g') &&
      rows.take_back(natural.size()) == llvm::ArrayRef<char>(natural) &&
      fewColumns.isReachedBy(sizeFrom(behind)))
    return behind;
  size_t begin = rows.size() - 1;
  while (begin > 0 && rows[begin - 1] != 'g' &&
         !enoughColumns.isReachedBy(sizeFrom(begin)))
    --begin;
  return begin;
}

/// [rows, terms] in front of a matrix of terms.
static PatchOrder orderTermsLast(const ConvolutionLetters &letters,
                                 Letters rows, const Letters &terms,
                                 const Letters &made) {
  PatchOrder order;
  if (letters.sizeOf('o') == 1) {
    order = {rows, letters.kernel, letters.result};
    append(order.patches, made);
    return order;
  }
  bool hasGroups = llvm::is_contained(rows, 'g');
  moveGroupsForward(rows);
  order.patches = order.result = rows;
  append(order.patches, made);
  order.result.push_back('o');
  if (hasGroups)
    order.kernel.push_back('g');
  append(order.kernel, terms);
  order.kernel.push_back('o');
  return order;
}

/// [outer rows, terms, rows] behind a matrix of terms.
static PatchOrder orderRowsLast(const ConvolutionLetters &letters,
                                llvm::ArrayRef<char> rows, const Letters &terms,
                                const Letters &made) {
  PatchOrder order;
  size_t columns = findColumns(letters, rows);
  order.patches.assign(rows.begin(), rows.begin() + columns);
  append(order.patches, made);
  append(order.patches, rows.drop_front(columns));
  bool hasGroups = llvm::is_contained(rows, 'g');
  // The kernel is a matrix of such columns already, and they are the result's.
  Letters columnsOfKernel = terms;
  columnsOfKernel.push_back('o');
  if (!hasGroups && letters.kernel == columnsOfKernel &&
      letters.result.back() == 'o') {
    order.kernel = letters.kernel;
    order.result.assign(rows.begin(), rows.end());
    order.result.push_back('o');
    return order;
  }
  if (hasGroups)
    order.kernel.push_back('g');
  order.kernel.push_back('o');
  append(order.kernel, terms);
  order.result.assign(rows.begin(), rows.begin() + columns);
  order.result.push_back('o');
  append(order.result, rows.drop_front(columns));
  return order;
}

PatchOrder shoal::choosePatchOrder(const ConvolutionLetters &letters) {
  char dense = findDense(letters);
  Letters rows, terms = letters.terms(), made;
  for (char letter : letters.result)
    if (letter != 'o')
      rows.push_back(letter);
  bool hasRowsLast = llvm::is_contained(rows, dense);
  moveLast(hasRowsLast ? rows : terms, dense);
  for (char letter : terms)
    if (letters.sizeOf(letter) > 1)
      made.push_back(letter);
  if (!hasRowsLast)
    return orderTermsLast(letters, rows, terms, made);
  if (dense != 'g')
    return orderRowsLast(letters, rows, terms, made);
  // One feature in each group: no matrices, but loops along the groups.
  PatchOrder order = {rows, letters.kernel, letters.result};
  order.patches.insert(order.patches.end() - 1, made.begin(), made.end());
  return order;
}
