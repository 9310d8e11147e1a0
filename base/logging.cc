#include "base/logging.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace muster {
namespace {

constexpr std::string_view kLevelNames[] = {"DEBUG", "INFO", "WARN", "ERROR", "OFF"};

LogLevel LevelFromEnvironment() {
  const char* value = std::getenv("MUSTER_LOG_LEVEL");
  if (value == nullptr) return LogLevel::kInfo;
  const std::string name = absl::AsciiStrToUpper(value);
  for (int level = 0; level <= static_cast<int>(LogLevel::kOff); ++level) {
    if (name == kLevelNames[level]) return static_cast<LogLevel>(level);
  }
  return LogLevel::kInfo;
}

std::atomic<LogLevel>& Level() {
  static std::atomic<LogLevel> level{LevelFromEnvironment()};
  return level;
}

struct Sink {
  Mutex mu;
  int file MUSTER_GUARDED_BY(mu) = -1;
  bool to_stderr MUSTER_GUARDED_BY(mu) = true;
};

// Never destroyed: threads may log while the process ends.
Sink& TheSink() {
  static Sink& sink = *new Sink;
  return sink;
}

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // nowhere to complain
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool NeedsQuotes(std::string_view value) {
  if (value.empty()) return true;
  for (const char c : value) {
    if (c == ' ' || c == '"' || c == '=' || static_cast<unsigned char>(c) < 0x20) return true;
  }
  return false;
}

}  // namespace

bool LogEnabled(LogLevel level) { return level >= Level().load(std::memory_order_relaxed); }

void SetLogLevel(LogLevel level) { Level().store(level); }

std::string FormatLog(LogLevel level, std::string_view message,
                      std::initializer_list<LogField> fields) {
  std::string line(kLevelNames[static_cast<int>(level)]);
  absl::StrAppend(&line, " ", absl::Utf8SafeCEscape(std::string(message)));
  for (const LogField& field : fields) {
    if (NeedsQuotes(field.value)) {
      absl::StrAppend(&line, " ", std::string(field.key), "=\"", absl::Utf8SafeCEscape(field.value),
                      "\"");
    } else {
      absl::StrAppend(&line, " ", std::string(field.key), "=", field.value);
    }
  }
  return line;
}

void WriteLog(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const std::string line =
      absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(), absl::UTCTimeZone()), " ",
                   FormatLog(level, message, fields), "\n");
  Sink& sink = TheSink();
  MutexLock lock(sink.mu);
  if (sink.to_stderr) WriteAll(STDERR_FILENO, line);
  if (sink.file >= 0) WriteAll(sink.file, line);
}

absl::Status LogToFile(const std::string& path, bool also_stderr) {
  int file = -1;
  if (!path.empty()) {
    file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the log file ", path));
    }
  }
  Sink& sink = TheSink();
  MutexLock lock(sink.mu);
  if (sink.file >= 0) ::close(sink.file);
  sink.file = file;
  sink.to_stderr = also_stderr || path.empty();
  return absl::OkStatus();
}

}  // namespace muster
