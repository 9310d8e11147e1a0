#include "agent/worker/oom_kills.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxFile = 4 << 10;
// The first is that of cgroups of version 2.
constexpr const char* kFiles[] = {"memory.events", "memory/memory.oom_control"};

}  // namespace

OomKills::OomKills(Files& files, std::string cgroup)
    : files_(files), cgroup_(std::move(cgroup)), seen_(Read()) {}

bool OomKills::Advanced() {
  const int64_t now = Read();
  return now > std::exchange(seen_, now);
}

int64_t OomKills::Read() const {
  for (const char* file : kFiles) {
    const absl::StatusOr<std::string> text = ReadFile(files_, JoinPath(cgroup_, file), kMaxFile);
    if (!text.ok()) continue;
    for (absl::string_view line : absl::StrSplit(*text, '\n')) {
      int64_t count = 0;
      if (absl::ConsumePrefix(&line, "oom_kill ") && absl::SimpleAtoi(line, &count)) return count;
    }
  }
  return 0;
}

}  // namespace muster::agent
