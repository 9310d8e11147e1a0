#ifndef MUSTER_OPERATOR_KUBE_HTTP_TEST_PROXY_H_
#define MUSTER_OPERATOR_KUBE_HTTP_TEST_PROXY_H_

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace muster::kube {

// An HTTP proxy on 127.0.0.1 for tests. It replies to a CONNECT with the result of `answer`, and
// forwards bytes if that is kConnected. Each connection has its own thread.
class TestProxy {
 public:
  static constexpr char kConnected[] = "HTTP/1.1 200 Connection established\r\n\r\n";
  using Answer = std::function<std::string(const std::string& request)>;

  explicit TestProxy(Answer answer = [](const std::string&) { return kConnected; });
  ~TestProxy();

  // Returns "127.0.0.1:port".
  std::string address() const;
  // Returns the proxy's URL. `user` is "name:password@" or empty.
  std::string Url(const std::string& user) const;
  std::vector<std::string> requests();

 private:
  void Accept();
  void Serve(int client);
  // Connects to the port that the request names, on 127.0.0.1.
  int Dial(const std::string& request);

  const Answer answer_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  Mutex mu_;
  std::set<int> sockets_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::thread> threads_ MUSTER_GUARDED_BY(mu_);
  std::vector<std::string> requests_ MUSTER_GUARDED_BY(mu_);
  std::thread accepter_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_TEST_PROXY_H_
