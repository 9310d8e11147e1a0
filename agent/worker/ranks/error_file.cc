#include "agent/worker/ranks/error_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/json.h"
#include "base/unique_fd.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxText = 500;
// The file has the traceback and the environment's summary too.
constexpr size_t kMaxFile = size_t{1} << 20;

}  // namespace

std::string ExceptionOf(std::string_view text) {
  const auto parsed = ParseJson(text, kMaxFile);
  if (!parsed.ok() || !parsed->is_object()) return "";
  Json message = parsed->value("message", Json());
  if (message.is_object()) message = message.value("message", Json());
  if (!message.is_string()) return "";
  std::string line = message.get<std::string>();
  std::replace_if(line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line.substr(0, kMaxText);
}

std::string ReadErrorFile(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat about = {};
  if (fd.get() < 0 || ::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) return "";
  if (about.st_size <= 0 || about.st_size > static_cast<off_t>(kMaxFile)) return "";
  std::string text(static_cast<size_t>(about.st_size), '\0');
  const ssize_t read = ::read(fd.get(), text.data(), text.size());
  if (read <= 0) return "";
  return ExceptionOf(std::string_view(text).substr(0, static_cast<size_t>(read)));
}

}  // namespace muster::agent
