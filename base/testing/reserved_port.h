#ifndef MUSTER_BASE_TESTING_RESERVED_PORT_H_
#define MUSTER_BASE_TESTING_RESERVED_PORT_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace muster {

// Keeps a TCP port of 127.0.0.1, for a program that must be told the number of its port. A port
// that was merely free a moment ago may be given to another process before the program listens on
// it, or while the program is restarted.
//
// The port is bound, but no socket listens on it: connections are refused until a program listens.
// The kernel gives it to no socket that asks for any port, and to no outgoing connection. A program
// must set SO_REUSEADDR to listen on it, as programs in Go, with gRPC, and muster's own do.
class ReservedPort {
 public:
  // Returns Unavailable if no port is free.
  static absl::StatusOr<ReservedPort> Reserve();

  int number() const { return number_; }
  // Returns "127.0.0.1:PORT".
  std::string address() const;

 private:
  ReservedPort(UniqueFd fd, int number) : fd_(std::move(fd)), number_(number) {}

  UniqueFd fd_;
  int number_;
};

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_RESERVED_PORT_H_
