#include "agent/worker/ranks/rank_end.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/json.h"
#include "base/unique_fd.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxText = 500;
// The file has the traceback and the environment's summary too.
constexpr size_t kMaxFile = size_t{1} << 20;

// The files that may have the count of kills. The first is that of cgroups of version 2.
constexpr const char* kKillCounts[] = {"memory.events", "memory/memory.oom_control"};

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

OomKills::OomKills(std::string cgroup) : cgroup_(std::move(cgroup)), seen_(Read()) {}

bool OomKills::Advanced() {
  const int64_t now = Read();
  return now > std::exchange(seen_, now);
}

int64_t OomKills::Read() const {
  for (const char* file : kKillCounts) {
    // The kernel says that such files are empty, so they are read to their end.
    std::ifstream stream(absl::StrCat(cgroup_, "/", file));
    for (std::string text; std::getline(stream, text);) {
      absl::string_view line = text;
      int64_t count = 0;
      if (absl::ConsumePrefix(&line, "oom_kill ") && absl::SimpleAtoi(line, &count)) return count;
    }
  }
  return 0;
}

}  // namespace muster::agent
