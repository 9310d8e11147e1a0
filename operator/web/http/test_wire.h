#ifndef MUSTER_OPERATOR_WEB_HTTP_TEST_WIRE_H_
#define MUSTER_OPERATOR_WEB_HTTP_TEST_WIRE_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/time/time.h"

namespace muster::control {

// A raw TCP client of "127.0.0.1:PORT" for tests. Used by one thread.
class Wire {
 public:
  explicit Wire(const std::string& address)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) == 0;
  }
  ~Wire() { ::close(fd_); }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  bool Send(const std::string& text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  // Reads until the server closes.
  std::string ReadAll() const {
    std::string all;
    char buffer[4096];
    for (ssize_t got; (got = ::recv(fd_, buffer, sizeof(buffer), 0)) > 0;) all.append(buffer, got);
    return all;
  }
  // Reads until the input contains `text` or the server closes.
  std::string ReadUntil(const std::string& text) const {
    std::string all;
    char c = 0;
    while (all.find(text) == std::string::npos && ::recv(fd_, &c, 1, 0) == 1) all.push_back(c);
    return all;
  }
  // Returns true if the server closed or sent something within `wait`.
  bool HasNews(absl::Duration wait) const {
    pollfd entry = {fd_, POLLIN, 0};
    return ::poll(&entry, 1, static_cast<int>(absl::ToInt64Milliseconds(wait))) > 0;
  }

 private:
  const int fd_;
  bool connected_ = false;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_WEB_HTTP_TEST_WIRE_H_
