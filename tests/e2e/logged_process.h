#ifndef MUSTER_TESTS_E2E_LOGGED_PROCESS_H_
#define MUSTER_TESTS_E2E_LOGGED_PROCESS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/process/process.h"

namespace muster::tests {

// Path of a built program or of a source file, e.g. "operator/muster-operator".
std::string SourcePath(const std::string& name);

// Starts a program in `folder` and appends its output to `name`.log there. `env` is added to the
// environment that every program of a test needs.
absl::StatusOr<std::unique_ptr<Process>> LaunchLogged(const std::string& folder,
                                                      const std::string& name,
                                                      std::vector<std::string> argv,
                                                      const std::vector<std::string>& env = {});

}  // namespace muster::tests

#endif  // MUSTER_TESTS_E2E_LOGGED_PROCESS_H_
