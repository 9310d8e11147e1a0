#include "operator/kube/http/test_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::kube {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// Forwards available bytes. Returns false at the end of the stream.
bool PassOn(int from, int to) {
  char buffer[16 << 10];
  const ssize_t got = recv(from, buffer, sizeof(buffer), 0);
  return got > 0 && send(to, buffer, static_cast<size_t>(got), MSG_NOSIGNAL) == got;
}

void PassOnBothWays(int a, int b) {
  while (true) {
    pollfd ends[] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    if (poll(ends, 2, -1) < 0) return;
    if (ends[0].revents != 0 && !PassOn(a, b)) return;
    if (ends[1].revents != 0 && !PassOn(b, a)) return;
  }
}

}  // namespace

TestProxy::TestProxy(Answer answer) : answer_(std::move(answer)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  listen(listener_, 64);
  socklen_t size = sizeof(address);
  getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  accepter_ = std::thread([this] { Accept(); });
}

TestProxy::~TestProxy() {
  stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  accepter_.join();
  std::vector<std::thread> threads;
  {
    MutexLock lock(mu_);
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
  close(listener_);
}

std::string TestProxy::address() const { return absl::StrCat("127.0.0.1:", port_); }

std::string TestProxy::Url(const std::string& user) const {
  return absl::StrCat("http://", user, address());
}

std::vector<std::string> TestProxy::requests() {
  MutexLock lock(mu_);
  return requests_;
}

void TestProxy::Accept() {
  while (!stopping_) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    MutexLock lock(mu_);
    sockets_.insert(client);
    threads_.emplace_back([this, client] { Serve(client); });
  }
}

int TestProxy::Dial(const std::string& request) {
  const size_t colon = request.find(':');
  const sockaddr_in address = Loopback(std::atoi(request.c_str() + colon + 1));
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return server;
}

void TestProxy::Serve(int client) {
  std::string request;
  char byte;
  while (request.find("\r\n\r\n") == request.npos && recv(client, &byte, 1, 0) == 1) {
    request.push_back(byte);
  }
  {
    MutexLock lock(mu_);
    requests_.push_back(request);
  }
  const std::string answer = answer_(request);
  send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
  if (answer == kConnected) {
    const int server = Dial(request);
    PassOnBothWays(client, server);
    close(server);
  }
  MutexLock lock(mu_);
  sockets_.erase(client);
  close(client);
}

}  // namespace muster::kube
