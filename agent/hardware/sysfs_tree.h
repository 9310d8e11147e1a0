#ifndef MUSTER_AGENT_HARDWARE_SYSFS_TREE_H_
#define MUSTER_AGENT_HARDWARE_SYSFS_TREE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::agent {

// The kernel's view of the hardware, as files below `root`: /sys, or where a container has the
// machine's /sys mounted. Paths are relative to it. Whatever is missing, unreadable or malformed is
// absent: drivers differ in what they tell, and a file may vanish between two calls. Thread-safe.
class SysfsTree {
 public:
  // Attributes have at most one page; longer contents are cut.
  static constexpr size_t kMaxBytes = 4096;

  explicit SysfsTree(std::string root) : root_(std::move(root)) {}

  // Returns an attribute without the spaces and newline around it.
  std::optional<std::string> Text(const std::string& path) const;
  // Returns an attribute that is a whole decimal number.
  std::optional<int64_t> Number(const std::string& path) const;
  // Returns a counter, which may use all 64 bits.
  std::optional<uint64_t> Counter(const std::string& path) const;
  // Returns the names in a folder, sorted; none if it does not exist.
  std::vector<std::string> List(const std::string& path) const;
  // Returns the last part of what a symbolic link points to.
  std::optional<std::string> LinkName(const std::string& path) const;

 private:
  std::string root_;
};

// Returns true for "0000:1b:00.0": domain, bus, device and function in lower-case hexadecimal.
bool IsPciAddress(const std::string& text);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_HARDWARE_SYSFS_TREE_H_
