// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OneDNNKernel.h"

#include <cstring>

namespace shoal::rt::onednn {

static dnnl::engine &engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

Matrix::Matrix(int64_t rows, int64_t columns, MatrixStrides given)
    : rows(rows), columns(columns) {
  StoredMatrix stored(rows, columns, given);
  if (stored.rowMajor)
    strides = {stored.leading, 1};
  else
    strides = {1, stored.leading};
}

void Matrix::transpose() {
  std::swap(rows, columns);
  std::swap(strides[0], strides[1]);
}

static dnnl::memory::data_type typeOf(ElementType type) {
  return type == ElementType::BF16 ? dnnl::memory::data_type::bf16
                                   : dnnl::memory::data_type::f32;
}

/// `loops` are dimensions in front of the matrix.
static dnnl::memory::desc describe(const Matrix &matrix, ElementType type,
                                   const Loops<3> &loops, size_t operand) {
  dnnl::memory::dims sizes, strides;
  for (const Loop<3> &loop : loops) {
    bool repeats = loop.strides[operand] == 0;
    sizes.push_back(repeats ? 1 : loop.size);
    strides.push_back(repeats ? matrix.rows * matrix.columns
                              : loop.strides[operand]);
  }
  sizes.insert(sizes.end(), {matrix.rows, matrix.columns});
  strides.insert(strides.end(), matrix.strides.begin(), matrix.strides.end());
  return {sizes, typeOf(type), strides};
}

static dnnl::matmul::primitive_desc describe(const Product &product,
                                             bool adds) {
  // oneDNN knows more orders of four dimensions than of three.
  Loops<3> dims = product.inside;
  if (dims.size() == 1)
    dims.insert(dims.begin(), Loop<3>{1, {0, 0, 0}});
  dnnl::primitive_attr attributes;
  // Its own would belong to the thread that made the kernel.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (adds) {
    dnnl::post_ops post;
    post.append_sum(1);
    attributes.set_post_ops(post);
  }
  return {dnnl::matmul::desc(describe(product.a, product.in, dims, 0),
                             describe(product.b, product.in, dims, 1),
                             describe(product.c, product.out, dims, 2)),
          attributes, engine()};
}

Kernel::Kernel(const Product &product, bool adds)
    : description(describe(product, adds)), primitive(description) {}

bool Kernel::isFast() const {
  return std::strncmp(description.impl_info_str(), "brg", 3) == 0;
}

namespace {

/// What a thread runs kernels with.
struct Caller {
  dnnl::stream stream = dnnl::stream(engine());
  /// The largest that a kernel asked for.
  std::vector<char> scratch;
};

} // namespace

void Kernel::run(const char *a, const char *b, char *c) const {
  static thread_local Caller caller;
  caller.scratch.resize(std::max(caller.scratch.size(),
                                 description.scratchpad_desc().get_size()));
  dnnl::memory memories[] = {
      {description.src_desc(), engine(), const_cast<char *>(a)},
      {description.weights_desc(), engine(), const_cast<char *>(b)},
      {description.dst_desc(), engine(), c},
      {description.scratchpad_desc(), engine(), caller.scratch.data()}};
  // Not by execute(), which makes a map of them.
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, memories[0].get()},
                                 {DNNL_ARG_WEIGHTS, memories[1].get()},
                                 {DNNL_ARG_DST, memories[2].get()},
                                 {DNNL_ARG_SCRATCHPAD, memories[3].get()}};
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive.get(),
                                                 caller.stream.get(), 4,
                                                 arguments),
                          "could not multiply");
}

} // namespace shoal::rt::onednn
