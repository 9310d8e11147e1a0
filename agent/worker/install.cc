#include "agent/worker/install.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

namespace fs = std::filesystem;

constexpr fs::perms kExecutableByAll = fs::perms::owner_all | fs::perms::group_read |
                                       fs::perms::group_exec | fs::perms::others_read |
                                       fs::perms::others_exec;

absl::Status Failed(const fs::path& path, const std::error_code& error) {
  return absl::UnavailableError(
      absl::StrCat("the agent cannot be copied to ", path.string(), ": ", error.message()));
}

}  // namespace

absl::Status InstallAgent(const std::string& program, const std::string& folder) {
  const fs::path goal = fs::path(folder) / "muster-agent";
  const fs::path part = fs::path(folder) / ".muster-agent.part";
  std::error_code error;
  fs::copy_file(program, part, fs::copy_options::overwrite_existing, error);
  if (!error) fs::permissions(part, kExecutableByAll, error);
  if (!error) fs::rename(part, goal, error);
  if (!error) return absl::OkStatus();
  std::error_code ignored;
  fs::remove(part, ignored);
  return Failed(goal, error);
}

}  // namespace muster::agent
