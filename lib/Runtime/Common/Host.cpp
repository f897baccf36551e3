// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Host.h"
#include "Memory.h"
#include "Numeric.h"
#include "shoal/Support/PrintFormat.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace shoal::rt {

/// A loop that waits for an answer of a host that has failed would not end.
static constexpr int64_t kMaxCallsAfterFailure = 4096;

Host &Host::get() {
  static Host host;
  return host;
}

void Host::setFunction(shoal_host_function newFunction, void *newContext) {
  function = newFunction;
  context = newContext;
}

void Host::setSocket(std::string newPath) { path = std::move(newPath); }

Status Host::check(const Program &program) const {
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

Status Host::takeFailure() {
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
  for (size_t i = 0; i < shapes.size(); ++i)
    tensors.push_back({static_cast<int64_t>(shapes[i].type),
                       static_cast<int64_t>(shapes[i].shape.size()),
                       shapes[i].shape.data(), buffers[i]});
  return tensors;
}

void Host::call(const calls::HostCall &call, void *const *buffers) {
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

void Host::print(const calls::HostCall &call, const Tensors &operands) {
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

Status Host::send(const shoal_host_call &request) {
  if (function)
    return sendToFunction(request);
  if (!path.empty())
    return sendToSocket(request);
  return Error{"there is no process with this function"};
}

void Host::fail(const calls::HostCall &call, const Error &error) {
  std::string what = call.number ? "\"" + call.text + "\": " : "";
  failure = Error{call.place + ": " + what + error.message};
  if (!function)
    fatal(failure->message);
}

Status Host::sendToFunction(const shoal_host_call &request) const {
  char error[4096] = "";
  if (function(context, &request, error, sizeof(error)) == 0)
    return std::nullopt;
  return Error{error};
}

//===----------------------------------------------------------------------===//
// Another process
//===----------------------------------------------------------------------===//

// A request is its number of words, the words, the text and the operands'
// bytes; the words are the function, the text's length, the numbers of operands
// and of results, and of each of these its type, its rank and its shape. An
// answer is a status, a length, and the results' bytes or an error.

static bool sendAll(int socket, const void *data, size_t bytes) {
  const char *next = static_cast<const char *>(data);
  while (bytes > 0) {
    ssize_t sent = ::send(socket, next, bytes, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    next += sent;
    bytes -= sent;
  }
  return true;
}

static bool receiveAll(int socket, void *data, size_t bytes) {
  char *next = static_cast<char *>(data);
  while (bytes > 0) {
    ssize_t received = ::recv(socket, next, bytes, 0);
    if (received < 0 && errno == EINTR)
      continue;
    if (received <= 0)
      return false;
    next += received;
    bytes -= received;
  }
  return true;
}

static size_t bytesOf(const shoal_tensor &tensor) {
  return support::numElements(
             {tensor.shape, static_cast<size_t>(tensor.rank)}) *
         support::elementSize(static_cast<ElementType>(tensor.type));
}

static std::vector<int64_t> headerOf(const shoal_host_call &request) {
  std::vector<int64_t> words{0, request.number,
                             static_cast<int64_t>(std::strlen(request.text)),
                             request.num_operands, request.num_results};
  auto add = [&](const shoal_tensor *tensors, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      words.push_back(tensors[i].type);
      words.push_back(tensors[i].rank);
      words.insert(words.end(), tensors[i].shape,
                   tensors[i].shape + tensors[i].rank);
    }
  };
  add(request.operands, request.num_operands);
  add(request.results, request.num_results);
  words[0] = static_cast<int64_t>(words.size()) - 1;
  return words;
}

Status Host::connect() {
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

static bool sendRequest(int socket, const shoal_host_call &request) {
  std::vector<int64_t> words = headerOf(request);
  bool isSent = sendAll(socket, words.data(), words.size() * sizeof(int64_t)) &&
                sendAll(socket, request.text, std::strlen(request.text));
  for (int64_t i = 0; i < request.num_operands && isSent; ++i)
    isSent =
        sendAll(socket, request.operands[i].data, bytesOf(request.operands[i]));
  return isSent;
}

Status Host::sendToSocket(const shoal_host_call &request) {
  if (socket < 0)
    if (Status failed = connect())
      return failed;
  const Error gone{"the process that started the program is gone"};
  int64_t answer[2];
  if (!sendRequest(socket, request) ||
      !receiveAll(socket, answer, sizeof(answer)))
    return gone;
  if (answer[0] != 0) {
    std::string message(answer[1], '\0');
    return receiveAll(socket, message.data(), message.size()) ? Error{message}
                                                              : gone;
  }
  for (int64_t i = 0; i < request.num_results; ++i)
    if (!receiveAll(socket, request.results[i].data,
                    bytesOf(request.results[i])))
      return gone;
  return std::nullopt;
}

} // namespace shoal::rt
