#include "tests/e2e/logged_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::tests {

std::string SourcePath(const std::string& name) {
  return absl::StrCat(std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"), "/", name);
}

absl::StatusOr<std::unique_ptr<Process>> LaunchLogged(const std::string& folder,
                                                      const std::string& name,
                                                      std::vector<std::string> argv,
                                                      const std::vector<std::string>& env) {
  const std::string path = absl::StrCat(folder, "/", name, ".log");
  const int log = open(path.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  if (log < 0) return absl::InternalError(absl::StrCat("cannot open ", path));
  ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.env = {"PATH=/usr/bin:/bin", absl::StrCat("HOME=", folder), "OMP_NUM_THREADS=1",
              "OMP_WAIT_POLICY=passive"};
  spec.env.insert(spec.env.end(), env.begin(), env.end());
  spec.cwd = folder;
  spec.fds = {{log, 1}, {log, 2}};
  auto process = ProcessLauncher::Real().Launch(spec);
  close(log);
  return process;
}

}  // namespace muster::tests
