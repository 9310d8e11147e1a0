#include "agent/hardware/sysfs_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/unique_fd.h"

namespace muster::agent {
namespace {

bool IsHex(const std::string& text, size_t from, size_t digits) {
  for (size_t i = from; i < from + digits; ++i) {
    const char c = text[i];
    if (!absl::ascii_isdigit(c) && !(c >= 'a' && c <= 'f')) return false;
  }
  return true;
}

template <typename Value>
std::optional<Value> Parsed(const std::optional<std::string>& text) {
  Value value = 0;
  if (!text.has_value() || !absl::SimpleAtoi(*text, &value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> SysfsTree::Text(const std::string& path) const {
  const std::string full = absl::StrCat(root_, "/", path);
  const UniqueFd fd(::open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return std::nullopt;
  std::string text(kMaxBytes, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;  // as `speed` of a link that is down
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  absl::StripAsciiWhitespace(&text);
  return text;
}

std::optional<int64_t> SysfsTree::Number(const std::string& path) const {
  return Parsed<int64_t>(Text(path));
}

std::optional<uint64_t> SysfsTree::Counter(const std::string& path) const {
  return Parsed<uint64_t>(Text(path));
}

std::vector<std::string> SysfsTree::List(const std::string& path) const {
  const std::string full = absl::StrCat(root_, "/", path);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(full.c_str()), ::closedir);
  std::vector<std::string> names;
  if (folder == nullptr) return names;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> SysfsTree::LinkName(const std::string& path) const {
  std::string target(kMaxBytes, '\0');
  const std::string full = absl::StrCat(root_, "/", path);
  const ssize_t size = ::readlink(full.c_str(), target.data(), target.size());
  if (size <= 0) return std::nullopt;
  target.resize(static_cast<size_t>(size));
  const size_t slash = target.rfind('/');
  return slash == std::string::npos ? target : target.substr(slash + 1);
}

bool IsPciAddress(const std::string& text) {
  return text.size() == 12 && text[4] == ':' && text[7] == ':' && text[10] == '.' &&
         IsHex(text, 0, 4) && IsHex(text, 5, 2) && IsHex(text, 8, 2) && IsHex(text, 11, 1);
}

}  // namespace muster::agent
