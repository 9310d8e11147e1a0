#ifndef MUSTER_OPERATOR_NOTIFY_FAKE_RECEIVER_H_
#define MUSTER_OPERATOR_NOTIFY_FAKE_RECEIVER_H_

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "httplib.h"

namespace muster::control {

// A receiver on the loopback, which keeps what it gets. Thread-safe.
class FakeReceiver {
 public:
  FakeReceiver() {
    server_.Post(".*", [this](const httplib::Request& request, httplib::Response& response) {
      MutexLock lock(mu_);
      requests_.push_back(request);
      response.status = status_;
      response.set_content(std::string(answer_size_, 'x'), "text/plain");
      got_.NotifyAll();
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  ~FakeReceiver() {
    while (!server_.is_running()) std::this_thread::yield();  // stop() has no effect before
    server_.stop();
    thread_.join();
  }
  std::string origin() const { return absl::StrCat("http://127.0.0.1:", port_); }
  void Answer(int status, size_t size = 0) {
    MutexLock lock(mu_);
    status_ = status;
    answer_size_ = size;
  }
  size_t requests() {
    MutexLock lock(mu_);
    return requests_.size();
  }
  // Waits for the request with this index.
  httplib::Request Request(size_t index) {
    MutexLock lock(mu_);
    while (requests_.size() <= index) got_.Wait(mu_);
    return requests_[index];
  }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  Mutex mu_;
  CondVar got_;
  std::vector<httplib::Request> requests_ MUSTER_GUARDED_BY(mu_);
  int status_ MUSTER_GUARDED_BY(mu_) = 200;
  size_t answer_size_ MUSTER_GUARDED_BY(mu_) = 0;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_NOTIFY_FAKE_RECEIVER_H_
