#ifndef MUSTER_BASE_NET_WAKE_FD_H_
#define MUSTER_BASE_NET_WAKE_FD_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/unique_fd.h"

namespace muster {

// A descriptor by which one thread ends the poll() of another (eventfd). Thread-safe.
class WakeFd {
 public:
  WakeFd() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  // Readable from Wake() until Clear(); negative if the process has no descriptor left.
  int get() const { return fd_.get(); }
  void Wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(fd_.get(), &one, sizeof(one));
  }
  void Clear() const {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t size = read(fd_.get(), &count, sizeof(count));
  }

 private:
  UniqueFd fd_;
};

}  // namespace muster

#endif  // MUSTER_BASE_NET_WAKE_FD_H_
