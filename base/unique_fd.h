#ifndef MUSTER_BASE_UNIQUE_FD_H_
#define MUSTER_BASE_UNIQUE_FD_H_

#include <unistd.h>

#include <utility>

namespace muster {

// Owns a descriptor and closes it; a negative one stands for none.
class UniqueFd {
 public:
  explicit UniqueFd(int fd = -1) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&&) = delete;
  ~UniqueFd() { Reset(); }
  int get() const { return fd_; }
  // Gives the descriptor to the caller, who closes it.
  int Release() { return std::exchange(fd_, -1); }
  void Reset() {
    if (fd_ >= 0) close(Release());
  }

 private:
  int fd_;
};

}  // namespace muster

#endif  // MUSTER_BASE_UNIQUE_FD_H_
