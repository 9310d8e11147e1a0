#ifndef MUSTER_TESTS_INTEGRATION_FREEZABLE_RELAY_H_
#define MUSTER_TESTS_INTEGRATION_FREEZABLE_RELAY_H_

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster::tests {

// A TCP relay to a local port that can stop moving bytes while its connections stay open, so that
// the server looks frozen or the network broken.
class FreezableRelay {
 public:
  explicit FreezableRelay(const std::string& target)
      : target_port_(std::stoi(target.substr(target.rfind(':') + 1))) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in local = Loopback(0);
    socklen_t size = sizeof(local);
    bind(listener_, reinterpret_cast<sockaddr*>(&local), size);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&local), &size);
    listen(listener_, 8);
    address_ = absl::StrCat("127.0.0.1:", ntohs(local.sin_port));
    thread_ = std::thread([this] { Run(); });
  }
  ~FreezableRelay() {
    stop_ = true;
    thread_.join();
    for (const auto& [from, to] : pairs_) close(from);
    close(listener_);
  }
  void Freeze() { frozen_ = true; }
  const std::string& address() const { return address_; }

 private:
  static sockaddr_in Loopback(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  void Accept() {
    const int peer = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in to = Loopback(target_port_);
    connect(server, reinterpret_cast<const sockaddr*>(&to), sizeof(to));
    pairs_.emplace_back(peer, server);
    pairs_.emplace_back(server, peer);
  }
  void Run() {
    while (!stop_) {
      std::vector<pollfd> fds = {{listener_, POLLIN, 0}};
      for (const auto& [from, to] : pairs_) fds.push_back({from, POLLIN, 0});
      if (frozen_) fds.clear();
      if (poll(fds.data(), fds.size(), 10) <= 0 || frozen_) continue;
      for (size_t i = 1; i < fds.size(); ++i) {
        char bytes[4096];
        if (fds[i].revents == 0) continue;
        const ssize_t size = read(fds[i].fd, bytes, sizeof(bytes));
        if (size <= 0) {
          shutdown(pairs_[i - 1].second, SHUT_WR);
        } else if (write(pairs_[i - 1].second, bytes, static_cast<size_t>(size)) != size) {
          stop_ = true;
        }
      }
      if (fds[0].revents != 0) Accept();
    }
  }

  const int target_port_;
  int listener_ = -1;
  std::string address_;
  std::atomic<bool> frozen_{false};
  std::atomic<bool> stop_{false};
  std::vector<std::pair<int, int>> pairs_;  // from, to
  std::thread thread_;
};

}  // namespace muster::tests

#endif  // MUSTER_TESTS_INTEGRATION_FREEZABLE_RELAY_H_
