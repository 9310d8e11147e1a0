#ifndef MUSTER_BASE_LOGGING_H_
#define MUSTER_BASE_LOGGING_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

// Structured log lines, one per call, written whole with one write(2):
//
//   2026-11-21T04:05:06.123456Z INFO round opened job=default/gpt round=3 members=4
//
//   MUSTER_LOG(INFO, "round opened", {"job", key}, {"round", round});
//   MUSTER_LOG(ERROR, "could not bind", {"pod", name}, {"error", status});
//
// Levels: DEBUG, INFO, WARN, ERROR. Lines below the level of MUSTER_LOG_LEVEL (INFO when unset)
// cost one comparison. Values with spaces, quotes or control characters are quoted and escaped, so
// a line is always one line. They go to stderr, or to the file given to LogToFile. Thread-safe.

namespace muster {

enum class LogLevel { kDebug = 0, kInfo = 1, kWarn = 2, kError = 3, kOff = 4 };

struct LogField {
  template <typename T>
  LogField(std::string_view key_in, const T& value_in) : key(key_in) {
    if constexpr (std::is_same_v<T, absl::Status>) {
      value = value_in.ToString();
    } else if constexpr (std::is_same_v<T, bool>) {
      value = value_in ? "true" : "false";
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      value = std::string(std::string_view(value_in));
    } else {
      value = absl::StrCat(value_in);
    }
  }

  std::string_view key;
  std::string value;
};

bool LogEnabled(LogLevel level);
void WriteLog(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);

// Overrides MUSTER_LOG_LEVEL.
void SetLogLevel(LogLevel level);

// Appends to `path` from now on; with `also_stderr` to stderr as well. An empty path means stderr
// only.
absl::Status LogToFile(const std::string& path, bool also_stderr);

// The text of one line without its time stamp and newline, for tests and other sinks.
std::string FormatLog(LogLevel level, std::string_view message,
                      std::initializer_list<LogField> fields);

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

#endif  // MUSTER_BASE_LOGGING_H_
