// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HostCallMessages.h"
#include "shoal/Support/ElementType.h"
#include "shoal/Support/Npy.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace shoal::rt {

bool sendAll(int socket, const void *data, size_t bytes) {
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

bool receiveAll(int socket, void *data, size_t bytes) {
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
         support::elementSize(static_cast<support::ElementType>(tensor.type));
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

size_t requestBytes(const shoal_host_call &request) {
  size_t bytes =
      headerOf(request).size() * sizeof(int64_t) + std::strlen(request.text);
  for (int64_t i = 0; i < request.num_operands; ++i)
    bytes += bytesOf(request.operands[i]);
  return bytes;
}

bool sendRequest(int socket, const shoal_host_call &request) {
  std::vector<int64_t> words = headerOf(request);
  bool isSent = sendAll(socket, words.data(), words.size() * sizeof(int64_t)) &&
                sendAll(socket, request.text, std::strlen(request.text));
  for (int64_t i = 0; i < request.num_operands && isSent; ++i)
    isSent =
        sendAll(socket, request.operands[i].data, bytesOf(request.operands[i]));
  return isSent;
}

support::Status receiveAnswer(int socket, const shoal_host_call &request) {
  support::Error gone{"the process that started the program is gone"};
  int64_t answer[2];
  if (!receiveAll(socket, answer, sizeof(answer)))
    return gone;
  if (answer[0] != 0) {
    std::string message(answer[1], '\0');
    return receiveAll(socket, message.data(), message.size())
               ? support::Error{message}
               : gone;
  }
  for (int64_t i = 0; i < request.num_results; ++i)
    if (!receiveAll(socket, request.results[i].data,
                    bytesOf(request.results[i])))
      return gone;
  return std::nullopt;
}

} // namespace shoal::rt
