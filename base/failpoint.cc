#include "base/failpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/mutex.h"

namespace muster {
namespace {

absl::Status Malformed(const std::string& item, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("failpoint \"", item, "\": ", what));
}

absl::Status ParseAction(const std::string& item, const std::string& text, Failpoint* point) {
  if (text == "kill") {
    point->action = Failpoint::Action::kKill;
  } else if (text == "stop") {
    point->action = Failpoint::Action::kStop;
  } else if (text == "error") {
    point->action = Failpoint::Action::kError;
  } else if (text.substr(0, 5) == "list:" && text.size() > 5) {
    point->action = Failpoint::Action::kList;
    point->path = text.substr(5);
  } else if (text.substr(0, 6) == "sleep:") {
    int milliseconds = 0;
    if (!absl::SimpleAtoi(text.substr(6), &milliseconds) || milliseconds < 0) {
      return Malformed(item, "sleep wants milliseconds, as in sleep:250");
    }
    point->action = Failpoint::Action::kSleep;
    point->sleep = absl::Milliseconds(milliseconds);
  } else {
    return Malformed(item, "the action must be kill, stop, sleep:MILLISECONDS, error or list:PATH");
  }
  return absl::OkStatus();
}

absl::StatusOr<Failpoint> ParseOne(const std::string& item) {
  Failpoint point;
  const size_t equals = item.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return Malformed(item, "wants NAME=ACTION[@N][?VAR=VALUE]");
  }
  point.name = item.substr(0, equals);
  std::string rest = item.substr(equals + 1);
  if (const size_t question = rest.find('?'); question != std::string::npos) {
    point.conditions = absl::StrSplit(rest.substr(question + 1), '&');
    for (const std::string& condition : point.conditions) {
      if (condition.find('=') == std::string::npos) {
        return Malformed(item, "a condition wants VAR=VALUE");
      }
    }
    rest = rest.substr(0, question);
  }
  if (const size_t at = rest.find('@'); at != std::string::npos) {
    if (!absl::SimpleAtoi(rest.substr(at + 1), &point.hit) || point.hit < 1) {
      return Malformed(item, "the hit must be a number from 1");
    }
    rest = rest.substr(0, at);
  }
  if (absl::Status status = ParseAction(item, rest, &point); !status.ok()) return status;
  return point;
}

bool ConditionsHold(const Failpoint& point) {
  for (const std::string& condition : point.conditions) {
    const std::pair<std::string, std::string> pair =
        absl::StrSplit(condition, absl::MaxSplits('=', 1));
    const char* value = std::getenv(pair.first.c_str());
    if (value == nullptr || pair.second != value) return false;
  }
  return true;
}

// One write appends the line, so that processes can share the file.
void AppendLine(const std::string& path, std::string_view name) {
  const std::string line = absl::StrCat(std::string(name), "\n");
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::fprintf(stderr, "MUSTER_FAILPOINTS: cannot write to %s\n", path.c_str());
    _exit(2);
  }
  close(fd);
}

// The failpoints armed in this process, and the number of hits of each name.
struct Armed {
  Mutex mu;
  std::vector<Failpoint> points;
  std::map<std::string, int, std::less<>> hits MUSTER_GUARDED_BY(mu);
};

Armed* ReadEnvironment() {
  auto* armed = new Armed;  // lives as long as the process: hits may come from any thread at exit
  const char* text = std::getenv("MUSTER_FAILPOINTS");
  if (text == nullptr) return armed;
  absl::StatusOr<std::vector<Failpoint>> points = ParseFailpoints(text);
  if (!points.ok()) {
    std::fprintf(stderr, "MUSTER_FAILPOINTS: %s\n", points.status().ToString().c_str());
    _exit(2);
  }
  for (Failpoint& point : *points) {
    if (ConditionsHold(point)) armed->points.push_back(std::move(point));
  }
  return armed;
}

}  // namespace

absl::StatusOr<std::vector<Failpoint>> ParseFailpoints(std::string_view text) {
  const std::vector<std::string> items =
      absl::StrSplit(std::string(text), ';', absl::SkipWhitespace());
  std::vector<Failpoint> points;
  for (const std::string& item : items) {
    absl::StatusOr<Failpoint> point = ParseOne(std::string(absl::StripAsciiWhitespace(item)));
    if (!point.ok()) return point.status();
    points.push_back(*std::move(point));
  }
  return points;
}

namespace failpoint_internal {
namespace {

Armed& OfThisProcess() {
  static Armed* const armed = ReadEnvironment();
  return *armed;
}

}  // namespace

bool IsArmed() { return !OfThisProcess().points.empty(); }

absl::Status Hit(std::string_view name) {
  Armed* const armed = &OfThisProcess();
  if (armed->points.empty()) return absl::OkStatus();
  int hit = 0;
  {
    MutexLock lock(armed->mu);
    auto it = armed->hits.find(name);
    if (it == armed->hits.end()) it = armed->hits.emplace(std::string(name), 0).first;
    hit = ++it->second;
  }
  for (const Failpoint& point : armed->points) {
    if ((point.name != name && point.name != "*") || point.hit != hit) continue;
    switch (point.action) {
      case Failpoint::Action::kKill:
        kill(getpid(), SIGKILL);
        break;
      case Failpoint::Action::kStop:
        kill(getpid(), SIGSTOP);
        break;
      case Failpoint::Action::kSleep:
        absl::SleepFor(point.sleep);
        break;
      case Failpoint::Action::kError:
        return absl::AbortedError(absl::StrCat("failpoint ", std::string(name), " at hit ", hit));
      case Failpoint::Action::kList:
        AppendLine(point.path, name);
        break;
    }
  }
  return absl::OkStatus();
}

}  // namespace failpoint_internal
}  // namespace muster
