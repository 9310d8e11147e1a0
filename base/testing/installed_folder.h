#ifndef MUSTER_BASE_TESTING_INSTALLED_FOLDER_H_
#define MUSTER_BASE_TESTING_INSTALLED_FOLDER_H_

#include <filesystem>
#include <string>

namespace muster {

// Returns the folder in which tools/setup installed something for tests, e.g. "prometheus". The
// test's target has //third_party/installed:NAME among its data, so that it runs again when another
// version is installed. Throws std::filesystem::filesystem_error if it is not installed.
inline std::string InstalledFolder(const std::string& name) {
  return std::filesystem::canonical("third_party/installed/" + name).parent_path();
}

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_INSTALLED_FOLDER_H_
