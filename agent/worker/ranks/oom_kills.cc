#include "agent/worker/ranks/oom_kills.h"

#include <fstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace muster::agent {
namespace {

// The first is that of cgroups of version 2.
constexpr const char* kFiles[] = {"memory.events", "memory/memory.oom_control"};

}  // namespace

OomKills::OomKills(std::string cgroup) : cgroup_(std::move(cgroup)), seen_(Read()) {}

bool OomKills::Advanced() {
  const int64_t now = Read();
  return now > std::exchange(seen_, now);
}

int64_t OomKills::Read() const {
  for (const char* file : kFiles) {
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
