#ifndef MUSTER_OPERATOR_KUBE_HTTP_SCRIPTED_STREAM_H_
#define MUSTER_OPERATOR_KUBE_HTTP_SCRIPTED_STREAM_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "httplib.h"

namespace muster::kube {

// A connection for tests whose peer sends `says` in pieces, whatever it receives, and then closes
// the connection or is cut off.
class ScriptedStream final : public httplib::Stream {
 public:
  ScriptedStream(std::string says, size_t piece, bool cut = false)
      : says_(std::move(says)), piece_(piece), cut_(cut) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override {
    ++reads;
    if (at_ == says_.size()) return cut_ ? -1 : 0;
    const size_t taken = std::min({size, piece_, says_.size() - at_});
    std::memcpy(to, says_.data() + at_, taken);
    at_ += taken;
    return static_cast<ssize_t>(taken);
  }
  ssize_t write(const char* data, size_t size) override {
    const size_t taken = std::min(size, piece_);
    written.append(data, taken);
    return static_cast<ssize_t>(taken);
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return -1; }

  std::string written;
  int reads = 0;

 private:
  const std::string says_;
  const size_t piece_;
  const bool cut_;
  size_t at_ = 0;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_HTTP_SCRIPTED_STREAM_H_
