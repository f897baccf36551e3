// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Run/HostCallMessages.h"
#include "Worker/Channel.h"
#include "Worker/SharedMemory.h"
#include "shoal/Runtime/ABI.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace shoal::rt;
using namespace shoal::rt::worker;

namespace {

/// Listens at an abstract name of this process, as a parent does.
class Parent {
public:
  Parent() : name("shoal-test-" + std::to_string(::getpid())) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                         name.size());
    listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr *>(&address), length),
              0);
    EXPECT_EQ(::listen(listener, 1), 0);
  }
  ~Parent() { ::close(listener); }

  int accept() const { return ::accept(listener, nullptr, nullptr); }

  std::string name;

private:
  int listener;
};

/// A message with a file.
void sendFile(int socket, Header header, int file) {
  iovec place{&header, sizeof(header)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr *first = CMSG_FIRSTHDR(&message);
  first->cmsg_level = SOL_SOCKET;
  first->cmsg_type = SCM_RIGHTS;
  first->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(first), &file, sizeof(file));
  ASSERT_EQ(::sendmsg(socket, &message, 0), ssize_t(sizeof(header)));
}

TEST(SharedMemory, PlacesOfRanks) {
  int file = ::memfd_create("test", 0);
  ASSERT_EQ(::ftruncate(file, 4096), 0);
  ASSERT_EQ(::pwrite(file, "x", 1, 300), 1);
  SharedMemory memory(/*rank=*/2);
  ASSERT_FALSE(memory.map(file, 4096));
  char *begin = memory.find(0, 0);
  EXPECT_EQ(memory.find(100, 100), begin + 300);
  EXPECT_EQ(*memory.find(100, 100), 'x');
  EXPECT_EQ(memory.find(100, 0), begin + 100);
  for (auto [offset, stride] : {std::pair<int64_t, int64_t>{4000, 100},
                                {-1, 0},
                                {0, -1},
                                {0, INT64_MAX},
                                {INT64_MAX, INT64_MAX / 2}})
    EXPECT_EQ(memory.find(offset, stride), nullptr) << offset << " " << stride;
}

TEST(SharedMemory, NoFile) {
  SharedMemory memory(/*rank=*/0);
  auto failed = memory.map(-1, 4096);
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->message.find("4096 bytes"), std::string::npos);
}

TEST(SharedMemory, OfAWorkerAlone) {
  SharedMemory memory(/*rank=*/1);
  ASSERT_FALSE(memory.make(4 * 4096));
  char *begin = memory.findRange(0, 4 * 4096);
  ASSERT_NE(begin, nullptr);
  begin[4096] = begin[8192] = 'x';
  memory.release(4096, 4096);
  EXPECT_EQ(begin[4096], 0);
  EXPECT_EQ(begin[8192], 'x');
  EXPECT_EQ(memory.find(4096, 4096), begin + 8192);
  for (auto [offset, bytes] : {std::pair<int64_t, int64_t>{0, 4 * 4096 + 1},
                               {-1, 1},
                               {0, -1},
                               {4 * 4096 + 1, 0},
                               {1, INT64_MAX}})
    EXPECT_EQ(memory.findRange(offset, bytes), nullptr) << offset << bytes;
}

/// A parent that other machines may reach: it hears `expected` and answers.
static std::thread answer(int listener, std::string expected,
                          std::string answer) {
  return std::thread([=] {
    int socket = acceptBefore(listener, Deadline(5));
    std::string said(expected.size(), ' ');
    EXPECT_TRUE(receiveBefore(socket, said, Deadline(5)));
    EXPECT_EQ(said, expected);
    EXPECT_TRUE(sendBefore(socket, answer, Deadline(5)));
    ::close(socket);
  });
}

TEST(Channel, ReachesAParentThatKnowsTheWord) {
  Invitation invitation = Invitation::make(8);
  invitation.word = "minehers";
  int listener = listenAnywhere(invitation.port);
  // Something else is there at first.
  invitation.addresses = {"127.0.0.1", "127.0.0.1"};
  invitation = Invitation::parse(invitation.text());
  ASSERT_EQ(invitation.addresses.size(), 2u);
  auto parent = std::thread([&] {
    answer(listener, "mine", "else").join();
    answer(listener, "mine", "none").join();
  });
  Channel channel;
  auto failed = channel.reach(invitation, 1);
  parent.join();
  ASSERT_TRUE(failed);
  EXPECT_NE(failed->message.find("127.0.0.1, port"), std::string::npos);
  ::close(listener);
}

TEST(Channel, Messages) {
  Parent parent;
  Channel channel;
  ASSERT_FALSE(channel.connect(parent.name));
  int socket = parent.accept();
  // In pieces, as a stream may bring it.
  std::vector<int64_t> message{static_cast<int64_t>(Message::Load), 20, 7, 8};
  std::thread writer([&] {
    const char *bytes = reinterpret_cast<const char *>(message.data());
    for (size_t i = 0; i < 32; ++i)
      EXPECT_TRUE(sendAll(socket, bytes + i, 1));
    EXPECT_TRUE(sendAll(socket, "path", 4));
  });
  Received received;
  channel.receive(received);
  writer.join();
  EXPECT_EQ(received.message, Message::Load);
  EXPECT_EQ(received.numWords(), 2u);
  EXPECT_EQ(received.word(0), 7);
  EXPECT_EQ(received.word(1), 8);
  EXPECT_EQ(received.textBehind(2), "path");
  EXPECT_EQ(received.file, -1);

  int file = ::memfd_create("test", 0);
  sendFile(socket, {static_cast<int64_t>(Message::Memory), 0}, file);
  channel.receive(received);
  EXPECT_EQ(received.message, Message::Memory);
  EXPECT_GE(received.file, 0);
  ::close(received.file);

  channel.send(Message::Done, {1, 2});
  int64_t words[4];
  ASSERT_TRUE(receiveAll(socket, words, sizeof(words)));
  EXPECT_EQ(words[0], static_cast<int64_t>(Message::Done));
  EXPECT_EQ(words[1], 16);
  EXPECT_EQ(words[3], 2);
}

/// In a child: a channel lasts as long as its process.
TEST(Channel, EndsWithItsParent) {
  Parent parent;
  pid_t child = ::fork();
  if (child == 0) {
    Channel channel;
    if (!channel.connect(parent.name))
      ::sleep(20); // a step that waits for others
    ::_exit(0);
  }
  ::close(parent.accept());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(HostCallMessages, ACallAndItsAnswer) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  int64_t shape[] = {3};
  float operand[] = {1, 2, 3}, result[] = {0, 0, 0};
  shoal_tensor in{SHOAL_RT_F32, 1, shape, operand};
  shoal_tensor out{SHOAL_RT_F32, 1, shape, result};
  shoal_host_call call{5, "name", 1, &in, 1, &out};
  ASSERT_TRUE(sendRequest(ends[0], call));
  // 10 words behind their number, the text and the operand.
  EXPECT_EQ(requestBytes(call), 11 * 8u + 4 + 12);
  std::vector<char> request(requestBytes(call));
  ASSERT_TRUE(receiveAll(ends[1], request.data(), request.size()));
  EXPECT_EQ(std::string(request.data() + 88, 4), "name");

  int64_t done[] = {0, 0};
  float answer[] = {4, 5, 6};
  sendAll(ends[1], done, sizeof(done));
  sendAll(ends[1], answer, sizeof(answer));
  EXPECT_FALSE(receiveAnswer(ends[0], call));
  EXPECT_EQ(result[2], 6);

  int64_t failed[] = {1, 2};
  sendAll(ends[1], failed, sizeof(failed));
  sendAll(ends[1], "no", 2);
  EXPECT_EQ(receiveAnswer(ends[0], call)->message, "no");
  ::close(ends[1]);
  EXPECT_TRUE(receiveAnswer(ends[0], call));
  ::close(ends[0]);
}

} // namespace
