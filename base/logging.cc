#include "base/logging.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include "base/utf8.h"

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
    if (written <= 0) return;  // the error cannot be logged
    text.remove_prefix(static_cast<size_t>(written));
  }
}

std::atomic<LogFormat>& Format() {
  static std::atomic<LogFormat> format{[] {
    const char* value = std::getenv("MUSTER_LOG_FORMAT");
    const auto parsed = ParseLogFormat(value == nullptr ? "text" : value);
    return parsed.ok() ? *parsed : LogFormat::kText;
  }()};
  return format;
}

std::vector<LogField>& ScopeFields() {
  thread_local std::vector<LogField> fields;
  return fields;
}

// Returns true for C1 controls and the line separators U+2028 and U+2029: some terminals obey them,
// and some viewers break lines at them.
bool ActsOnTerminals(std::string_view sequence) {
  if (sequence.size() == 2) return sequence[0] == '\xC2' && sequence[1] < '\xA0';
  return sequence == "\xE2\x80\xA8" || sequence == "\xE2\x80\xA9";
}

void AppendHex(std::string& out, std::string_view prefix, unsigned value, int digits) {
  absl::StrAppend(&out, std::string(prefix));
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out.push_back("0123456789abcdef"[(value >> shift) & 0xF]);
  }
}

unsigned CodePoint(std::string_view sequence) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(sequence[i]) & 0x3Fu; };
  if (sequence.size() == 2) return (byte(0) & 0x1F) << 6 | byte(1);
  return (byte(0) & 0x0F) << 12 | byte(1) << 6 | byte(2);
}

// Escapes as JSON with `json`, where a byte that is not UTF-8 becomes U+FFFD; otherwise as C.
std::string Escape(std::string_view text, bool json) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8SequenceLength(text);
    const std::string_view sequence = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(sequence.size());
    const auto byte = static_cast<unsigned char>(sequence[0]);
    if (length == 0) {
      if (json) {
        out.append("\\ufffd");
      } else {
        AppendHex(out, "\\x", byte, 2);
      }
    } else if (length > 1) {
      if (ActsOnTerminals(sequence)) {
        AppendHex(out, "\\u", CodePoint(sequence), 4);
      } else {
        out.append(sequence);
      }
    } else if (byte == '"' || byte == '\\') {
      out.append({'\\', static_cast<char>(byte)});
    } else if (byte == '\n' || byte == '\r' || byte == '\t') {
      out.append({'\\', byte == '\n' ? 'n' : byte == '\r' ? 'r' : 't'});
    } else if (byte < 0x20 || byte == 0x7F) {
      AppendHex(out, json ? "\\u" : "\\x", byte, json ? 4 : 2);
    } else {
      out.push_back(static_cast<char>(byte));
    }
  }
  return out;
}

bool IsPlain(std::string_view value) {
  if (value.empty()) return false;
  for (const char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == '\x7F') return false;
  }
  return true;  // `char` is signed, so `c <= ' '` also holds beyond ASCII: quoted
}

// Returns the scopes' fields, then the line's own; if a key occurs twice, only the innermost field.
std::vector<const LogField*> AllFields(std::initializer_list<LogField> fields) {
  std::vector<const LogField*> all;
  const auto add = [&](const LogField& field) {
    for (const LogField*& known : all) {
      if (known->key == field.key) {
        known = &field;
        return;
      }
    }
    all.push_back(&field);
  };
  for (const LogField& field : ScopeFields()) add(field);
  for (const LogField& field : fields) add(field);
  return all;
}

}  // namespace

bool LogEnabled(LogLevel level) { return level >= Level().load(std::memory_order_relaxed); }

void SetLogLevel(LogLevel level) { Level().store(level); }

void SetLogFormat(LogFormat format) { Format().store(format); }

absl::StatusOr<LogFormat> ParseLogFormat(std::string_view name) {
  if (name == "text") return LogFormat::kText;
  if (name == "json") return LogFormat::kJson;
  return absl::InvalidArgumentError(
      absl::StrCat("the log format is text or json, not '", std::string(name), "'"));
}

std::string FormatLog(LogLevel level, std::string_view message,
                      std::initializer_list<LogField> fields) {
  std::string line(kLevelNames[static_cast<int>(level)]);
  absl::StrAppend(&line, " ", Escape(message, /*json=*/false));
  for (const LogField* field : AllFields(fields)) {
    absl::StrAppend(&line, " ", std::string(field->key), "=");
    if (IsPlain(field->value)) {
      absl::StrAppend(&line, field->value);
    } else {
      absl::StrAppend(&line, "\"", Escape(field->value, /*json=*/false), "\"");
    }
  }
  return line;
}

std::string FormatJsonLog(std::string_view time, LogLevel level, std::string_view message,
                          std::initializer_list<LogField> fields) {
  std::string line = absl::StrCat("{\"time\":\"", std::string(time), "\",\"level\":\"",
                                  std::string(kLevelNames[static_cast<int>(level)]),
                                  "\",\"message\":\"", Escape(message, /*json=*/true), "\"");
  for (const LogField* field : AllFields(fields)) {
    // JSON readers may keep either of two equal keys, so a field must not take a key of the line.
    const bool taken = field->key == "time" || field->key == "level" || field->key == "message";
    absl::StrAppend(&line, ",\"", Escape(field->key, /*json=*/true), taken ? "_\":" : "\":");
    if (field->bare) {
      absl::StrAppend(&line, field->value);
    } else {
      absl::StrAppend(&line, "\"", Escape(field->value, /*json=*/true), "\"");
    }
  }
  return line + "}";
}

void WriteLog(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  const std::string time =
      absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::Now(), absl::UTCTimeZone());
  const std::string line = Format().load(std::memory_order_relaxed) == LogFormat::kJson
                               ? FormatJsonLog(time, level, message, fields) + "\n"
                               : absl::StrCat(time, " ", FormatLog(level, message, fields), "\n");
  Sink& sink = TheSink();
  MutexLock lock(sink.mu);
  if (sink.to_stderr) WriteAll(STDERR_FILENO, line);
  if (sink.file >= 0) WriteAll(sink.file, line);
}

LogScope::LogScope(std::initializer_list<LogField> fields) : outer_(ScopeFields().size()) {
  ScopeFields().insert(ScopeFields().end(), fields.begin(), fields.end());
}

LogScope::~LogScope() { ScopeFields().erase(ScopeFields().begin() + outer_, ScopeFields().end()); }

LogLimiter::Verdict LogLimiter::Admit(std::string_view message, std::string_view about,
                                      absl::Time now, LogLevel level) {
  MutexLock lock(mu_);
  const std::pair<std::string, std::string> name(message, about);
  const auto found = sources_.find(name);
  if (found == sources_.end()) {
    // Sources that have been quiet for a window are dropped to make room.
    if (sources_.size() >= kMaxSources) {
      std::erase_if(sources_, [&](const auto& s) {
        return now - s.second.since >= kWindow && s.second.held_back == 0;
      });
    }
    if (sources_.size() < kMaxSources) sources_[name] = {level, now, 1, 0};
    return {};
  }
  Source& source = found->second;
  if (now - source.since >= kWindow) {
    const Verdict verdict{true, source.held_back};
    source = {level, now, 1, 0};
    return verdict;
  }
  if (source.written < kBurst) {
    ++source.written;
    return {};
  }
  ++source.held_back;
  return {false, 0};
}

std::vector<LogLimiter::HeldBack> LogLimiter::TakeHeldBack(absl::Time now, bool all) {
  MutexLock lock(mu_);
  std::vector<HeldBack> taken;
  for (auto source = sources_.begin(); source != sources_.end();) {
    Source& state = source->second;
    const bool ended = now - state.since >= kWindow;
    if (state.held_back > 0 && (ended || all)) {
      taken.push_back({state.level, source->first.first, source->first.second, state.held_back});
      state.held_back = 0;
    }
    source = ended ? sources_.erase(source) : std::next(source);
  }
  return taken;
}

namespace {
LogLimiter& TheLimiter() {
  static LogLimiter& limiter = *new LogLimiter;  // never destroyed, like the sink
  return limiter;
}
}  // namespace

LogLimiter::Verdict AdmitLog(LogLevel level, std::string_view message, std::string_view about) {
  return TheLimiter().Admit(message, about, absl::Now(), level);
}

void FlushLimitedLogs(bool all) {
  for (const LogLimiter::HeldBack& held : TheLimiter().TakeHeldBack(absl::Now(), all)) {
    WriteLog(held.level, held.message,
             {{"about", held.about}, {"repeats", held.repeats}, {"window", "60s"}});
  }
}

absl::Status LogToFile(const std::string& path, bool also_stderr) {
  int file = -1;
  if (!path.empty()) {
    file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
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
