// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Models.h"
#include "StridedView.h"
#include "shoal/Dialect/Shoal/IR/FourierOps.h"
#include <complex>
#include <numbers>

using namespace mlir;

namespace shoal::reference {

using Complex = std::complex<double>;

/// exp(2 pi i n / length) for n = 0 ... length - 1: quarter turns, which are
/// exact, and the rest of less than one.
static std::vector<Complex> listRoots(int64_t length) {
  static constexpr Complex quarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  std::vector<Complex> roots(length);
  for (int64_t n = 0; n < length; ++n) {
    double rest = double(4 * n % length) / double(length);
    roots[n] =
        quarters[4 * n / length] * std::polar(1.0, std::numbers::pi / 2 * rest);
  }
  return roots;
}

/// The definition: a sum for each element.
static std::vector<Complex> transform(ArrayRef<Complex> line, bool inverse) {
  auto length = static_cast<int64_t>(line.size());
  std::vector<Complex> roots = listRoots(length), sums(length);
  for (int64_t k = 0; k < length; ++k) {
    for (int64_t n = 0, turn = 0; n < length; ++n, turn = (turn + k) % length)
      sums[k] += line[n] * (inverse ? roots[turn] : std::conj(roots[turn]));
    if (inverse)
      sums[k] /= double(length);
  }
  return sums;
}

/// The whole line of which the first half is given: element N - k is the
/// conjugate of element k.
static void completeLine(MutableArrayRef<Complex> line) {
  size_t length = line.size();
  line[0].imag(0);
  for (size_t k = 1; 2 * k < length; ++k)
    line[length - k] = std::conj(line[k]);
  if (length % 2 == 0)
    line[length / 2].imag(0);
}

static std::vector<Complex> readLine(ArrayRef<Tensor> halves, int64_t length,
                                     int64_t count, int64_t start,
                                     int64_t stride) {
  std::vector<Complex> line(length);
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = start + i * stride;
    line[i] = {halves[0][place].f,
               halves.size() == 2 ? halves[1][place].f : 0.0};
  }
  if (count < length)
    completeLine(line);
  return line;
}

/// The places at which lines begin, in their order.
static std::vector<int64_t> listStarts(ArrayRef<int64_t> shape, int64_t dim) {
  StridedView view = StridedView::whole(shape);
  view.shape[dim] = std::min<int64_t>(view.shape[dim], 1);
  std::vector<int64_t> starts;
  forEachPlace(view, [&](int64_t start) { starts.push_back(start); });
  return starts;
}

static FailureOr<Tensors> evaluateFft(FftOp op, ArrayRef<Tensor> operands) {
  Tensors results;
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    results.push_back(Tensor(resultType(op, i)));
  auto dim = static_cast<int64_t>(op.getDim());
  int64_t length = op.getLength(), count = operands[0].getShape()[dim];
  int64_t made = results[0].getShape()[dim];
  int64_t stride = StridedView::whole(operands[0].getShape()).strides[dim];
  std::vector<int64_t> from = listStarts(operands[0].getShape(), dim);
  std::vector<int64_t> to = listStarts(results[0].getShape(), dim);
  ElementType element = results[0].getElementType();
  for (auto [start, target] : llvm::zip_equal(from, to)) {
    std::vector<Complex> line = transform(
        readLine(operands, length, count, start, stride), op.getInverse());
    for (int64_t i = 0; i < made; ++i) {
      double halves[] = {line[i].real(), line[i].imag()};
      for (auto [half, result] : llvm::zip(halves, results))
        result.getMutableElements()[target + i * stride].f =
            roundTo(element, half);
    }
  }
  return results;
}

void registerFourierModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ShoalDialect *) {
    attach<FftOp, evaluateFft>(context);
  });
}

} // namespace shoal::reference
