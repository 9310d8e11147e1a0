#ifndef MUSTER_BASE_LOGGING_H_
#define MUSTER_BASE_LOGGING_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/mutex.h"

// Structured log lines, one per call, written whole with one write(2):
//
//   2026-11-21T04:05:06.123456Z INFO round opened job=default/gpt round=3 members=4
//
//   MUSTER_LOG(INFO, "round opened", {"job", key}, {"round", round});
//   MUSTER_LOG(ERROR, "could not bind", {"pod", name}, {"error", status});
//
// or, with LogFormat::kJson, one JSON object per line with the keys time, level, message and the
// fields; numbers and booleans stay numbers and booleans.
//
// Levels: DEBUG, INFO, WARN, ERROR. A line below the level of MUSTER_LOG_LEVEL (INFO when unset)
// costs one comparison. Values with spaces, quotes or control characters are quoted and escaped,
// and invalid UTF-8 is escaped too, so a line is always one line of valid UTF-8. Lines go to
// stderr, or to the file given to LogToFile. Thread-safe.

namespace muster {

enum class LogLevel { kDebug = 0, kInfo = 1, kWarn = 2, kError = 3, kOff = 4 };
enum class LogFormat { kText, kJson };

struct LogField {
  template <typename T>
  LogField(std::string_view key_in, const T& value_in) : key(key_in) {
    if constexpr (std::is_same_v<T, absl::Status>) {
      value = value_in.ToString();
    } else if constexpr (std::is_same_v<T, bool>) {
      value = value_in ? "true" : "false";
      bare = true;
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      value = std::string(std::string_view(value_in));
    } else {
      value = absl::StrCat(value_in);
      bare = std::is_integral_v<T>;
    }
  }

  std::string_view key;  // a literal: [A-Za-z0-9_]+
  std::string value;
  bool bare = false;  // written unquoted in JSON: a number or a boolean
};

bool LogEnabled(LogLevel level);
void WriteLog(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);

// Overrides MUSTER_LOG_LEVEL.
void SetLogLevel(LogLevel level);

// Overrides MUSTER_LOG_FORMAT (text or json; text when unset).
void SetLogFormat(LogFormat format);
// "text" or "json"; kInvalidArgument for anything else.
absl::StatusOr<LogFormat> ParseLogFormat(std::string_view name);

// Appends to `path` from now on, and with `also_stderr` to stderr as well. An empty path means
// stderr only.
absl::Status LogToFile(const std::string& path, bool also_stderr);

// Returns the text of one line without its time stamp and newline, for tests and other sinks.
// Fields of the thread's LogScopes come first; if a key occurs twice, the innermost field counts.
std::string FormatLog(LogLevel level, std::string_view message,
                      std::initializer_list<LogField> fields);
// Returns the JSON line without its newline; `time` is RFC 3339.
std::string FormatJsonLog(std::string_view time, LogLevel level, std::string_view message,
                          std::initializer_list<LogField> fields);

// Adds fields to every line that this thread logs while the scope lives, so that only the start of
// a piece of work names its subject. Scopes nest and end in reverse order.
//
//   LogScope scope({{"job", key}, {"reconcile", id}});
class LogScope {
 public:
  explicit LogScope(std::initializer_list<LogField> fields);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  size_t outer_;  // the number of fields before this scope
};

// Limits repeated lines: in a window of kWindow, the first kBurst lines of one (message, about)
// pair are written and the rest are counted. The first line after the window carries the count:
// `... repeats=312 window=60s`; if no line follows, FlushLimitedLogs reports it. Memory is bounded:
// beyond kMaxSources pairs, new ones are not limited. Thread-safe.
class LogLimiter {
 public:
  static constexpr int kBurst = 5;
  static constexpr size_t kMaxSources = 1024;
  static constexpr absl::Duration kWindow = absl::Seconds(60);

  struct Verdict {
    bool write = true;
    int64_t repeats = 0;  // held back since the last line written
  };
  Verdict Admit(std::string_view message, std::string_view about, absl::Time now,
                LogLevel level = LogLevel::kWarn);

  struct HeldBack {
    LogLevel level;
    std::string message;
    std::string about;
    int64_t repeats = 0;
  };
  // Returns, once, the lines held back in windows that have ended; with `all` also those in windows
  // that are still open.
  std::vector<HeldBack> TakeHeldBack(absl::Time now, bool all);

 private:
  struct Source {
    LogLevel level = LogLevel::kWarn;
    absl::Time since;
    int written = 0;
    int64_t held_back = 0;
  };
  Mutex mu_;
  std::map<std::pair<std::string, std::string>, Source> sources_
      MUSTER_GUARDED_BY(mu_);  // by message and about
};

// The limiter behind MUSTER_LOG_LIMITED, on the real clock.
LogLimiter::Verdict AdmitLog(LogLevel level, std::string_view message, std::string_view about);
// Logs the number of lines held back in windows that have ended; with `all` also in those still
// open. Called about every second by a loop, and with `all` at the end of a program:
//
//   WARN reconcile failed about=default/gpt repeats=312 window=60s
void FlushLimitedLogs(bool all = false);

}  // namespace muster

#define MUSTER_LOG_LEVEL_DEBUG ::muster::LogLevel::kDebug
#define MUSTER_LOG_LEVEL_INFO ::muster::LogLevel::kInfo
#define MUSTER_LOG_LEVEL_WARN ::muster::LogLevel::kWarn
#define MUSTER_LOG_LEVEL_ERROR ::muster::LogLevel::kError

#define MUSTER_LOG(level, message, ...)                                     \
  do {                                                                      \
    if (::muster::LogEnabled(MUSTER_LOG_LEVEL_##level)) {                   \
      ::muster::WriteLog(MUSTER_LOG_LEVEL_##level, message, {__VA_ARGS__}); \
    }                                                                       \
  } while (false)

// Like MUSTER_LOG, but limited by LogLimiter, for lines that may repeat. `about` is the job or
// object that the line concerns.
#define MUSTER_LOG_LIMITED(level, about, message, ...)                                         \
  do {                                                                                         \
    if (!::muster::LogEnabled(MUSTER_LOG_LEVEL_##level)) break;                                \
    const ::muster::LogLimiter::Verdict muster_verdict =                                       \
        ::muster::AdmitLog(MUSTER_LOG_LEVEL_##level, message, about);                          \
    if (!muster_verdict.write) break;                                                          \
    if (muster_verdict.repeats == 0) {                                                         \
      ::muster::WriteLog(MUSTER_LOG_LEVEL_##level, message, {__VA_ARGS__});                    \
    } else {                                                                                   \
      ::muster::WriteLog(                                                                      \
          MUSTER_LOG_LEVEL_##level, message,                                                   \
          {__VA_ARGS__ __VA_OPT__(, ){"repeats", muster_verdict.repeats}, {"window", "60s"}}); \
    }                                                                                          \
  } while (false)

#endif  // MUSTER_BASE_LOGGING_H_
