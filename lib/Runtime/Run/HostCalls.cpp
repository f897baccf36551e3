// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HostCalls.h"
#include "../Program/Numeric.h"
#include "HostCallMessages.h"
#include "shoal/Support/PrintFormat.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace shoal::rt {

/// A loop that waits for an answer of a function that has failed would not end.
static constexpr int64_t kMaxCallsAfterFailure = 4096;

HostCalls &HostCalls::get() {
  static HostCalls calls;
  return calls;
}

void HostCalls::setFunction(shoal_host_function newFunction, void *newContext) {
  function = newFunction;
  context = newContext;
}

void HostCalls::setSocket(std::string newPath) { path = std::move(newPath); }

Status HostCalls::check(const Program &program) const {
  if (function || !path.empty())
    return std::nullopt;
  for (const HostCallInfo &call : program.hostCalls)
    if (call.number)
      return Error{call.loc + ": " + program.name + " calls \"" + call.name +
                   "\", a function of the Python process that compiled it: "
                   "run the program there, by Executable.run or "
                   "Executable.open"};
  return std::nullopt;
}

Status HostCalls::takeFailure() {
  callsSinceFailure = 0;
  return std::exchange(failure, std::nullopt);
}

//===----------------------------------------------------------------------===//
// A call
//===----------------------------------------------------------------------===//

/// Bytes that a sum does not change: zeros, and the sign of floats.
static void fillNeutral(const TensorShape &tensor, void *data) {
  size_t size = support::elementSize(tensor.type);
  size_t bytes = support::numElements(tensor.shape) * size;
  std::memset(data, 0, bytes);
  if (support::isFloat(tensor.type))
    for (size_t end = size; end <= bytes; end += size)
      static_cast<unsigned char *>(data)[end - 1] = 0x80;
}

static std::vector<shoal_tensor>
describe(const std::vector<TensorShape> &shapes, void *const *buffers) {
  std::vector<shoal_tensor> tensors;
  tensors.reserve(shapes.size());
  for (size_t i = 0; i < shapes.size(); ++i)
    tensors.push_back({static_cast<int64_t>(shapes[i].type),
                       static_cast<int64_t>(shapes[i].shape.size()),
                       shapes[i].shape.data(), buffers[i]});
  return tensors;
}

void HostCalls::call(const calls::HostCall &call, void *const *buffers) {
  void *const *flag = buffers + call.operands.size();
  void *const *outputs = flag + (call.hasWhen ? 1 : 0);
  bool isMine = !call.hasWhen || *static_cast<const char *>(*flag) != 0;
  if (isMine && failure && ++callsSinceFailure > kMaxCallsAfterFailure)
    fatal(failure->message);
  if (!isMine || failure) {
    for (size_t i = 0; i < call.results.size(); ++i)
      fillNeutral(call.results[i], outputs[i]);
    return;
  }
  Tensors operands = describe(call.operands, buffers);
  if (!call.number)
    return print(call, operands);
  Tensors results = describe(call.results, outputs);
  shoal_host_call request{*call.number,
                          call.text.c_str(),
                          static_cast<int64_t>(operands.size()),
                          operands.data(),
                          static_cast<int64_t>(results.size()),
                          results.data()};
  if (Status failed = send(request)) {
    for (size_t i = 0; i < call.results.size(); ++i)
      fillNeutral(call.results[i], outputs[i]);
    fail(call, *failed);
  }
}

void HostCalls::print(const calls::HostCall &call, const Tensors &operands) {
  std::vector<support::PrintOperand> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto &list = call.unsignedOperands;
    bool isUnsigned = std::find(list.begin(), list.end(), i) != list.end();
    values.push_back({call.operands[i].type, isUnsigned, call.operands[i].shape,
                      operands[i].data});
  }
  // The compiler has read the format.
  std::string line =
      support::printText(*support::parseFormat(call.text), values) + "\n";
  if (!function && path.empty()) {
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
    return;
  }
  if (Status failed = send({-1, line.c_str(), 0, nullptr, 0, nullptr}))
    fail(call, *failed);
}

Status HostCalls::send(const shoal_host_call &request) {
  if (function)
    return sendToFunction(request);
  if (!path.empty())
    return sendToSocket(request);
  return Error{"there is no process with this function"};
}

void HostCalls::fail(const calls::HostCall &call, const Error &error) {
  std::string what = call.number ? "\"" + call.text + "\": " : "";
  failure = Error{call.place + ": " + what + error.message};
  if (!function)
    fatal(failure->message);
}

Status HostCalls::sendToFunction(const shoal_host_call &request) const {
  char error[4096] = "";
  if (function(context, &request, error, sizeof(error)) == 0)
    return std::nullopt;
  return Error{error};
}

//===----------------------------------------------------------------------===//
// Another process
//===----------------------------------------------------------------------===//

Status HostCalls::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return Error{path + ": longer than names of sockets are"};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 ||
      ::connect(socket, reinterpret_cast<const sockaddr *>(&address),
                sizeof(address)) != 0)
    return Error{"cannot reach the process that started the program at " +
                 path + ": " + std::strerror(errno) +
                 " (it must be on this machine)"};
  return std::nullopt;
}

Status HostCalls::sendToSocket(const shoal_host_call &request) {
  if (socket < 0)
    if (Status failed = connect())
      return failed;
  if (!sendRequest(socket, request))
    return Error{"the process that started the program is gone"};
  return receiveAnswer(socket, request);
}

} // namespace shoal::rt
