#ifndef MUSTER_CLI_RUN_BACKGROUND_H_
#define MUSTER_CLI_RUN_BACKGROUND_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::cli {

// A command that goes on in the background, in a process of its own. Until it has begun, its
// messages go to the terminal, and a signal from there reaches it. Not thread-safe; fork before any
// thread is started.
class Background {
 public:
  // The result in the process that was called.
  struct Parent {
    pid_t child = 0;
    std::optional<int> exit_code;  // of a child that ended before it had begun
  };
  // Forks. Returns nullopt in the child; in the parent it returns once the child has begun or
  // ended.
  absl::StatusOr<std::optional<Parent>> Fork();
  // In the child: leaves the terminal, with all further output appended to the file `log`, and
  // tells the parent.
  absl::Status Begin(const std::string& log);

 private:
  int begun_fd_ = -1;
};

}  // namespace muster::cli

#endif  // MUSTER_CLI_RUN_BACKGROUND_H_
