#include "cli/flags/completion.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cli/flags/invocation.h"

namespace muster::cli {
namespace {

// The word under the cursor, and the flag if the word is its value.
struct Cursor {
  std::string flag;  // empty if the word is no value
  std::string word;
  std::string before;
};

std::string WordAt(const TypedLine& line, size_t i) {
  return i < line.words.size() ? line.words[i] : "";
}

bool IsFlag(const std::string& word) { return word.size() > 2 && absl::StartsWith(word, "--"); }

std::string NameOf(const std::string& flag) {
  const size_t equals = flag.find('=');
  return flag.substr(2, equals == std::string::npos ? equals : equals - 2);
}

Cursor CursorOf(const TypedLine& line) {
  const std::string word = WordAt(line, line.at);
  const std::string previous = line.at > 1 ? WordAt(line, line.at - 1) : "";
  if (word == "=" && IsFlag(previous)) return {NameOf(previous), "", ""};
  if (previous == "=" && line.at > 2) return {NameOf(WordAt(line, line.at - 2)), word, ""};
  if (IsFlag(word) && absl::StrContains(word, "=")) {
    const size_t value = word.find('=') + 1;
    return {NameOf(word), word.substr(value), word.substr(0, value)};
  }
  const bool takes = IsFlag(previous) && !absl::StrContains(previous, "=");
  return {takes ? NameOf(previous) : "", word, ""};
}

const FlagSpec* FlagNamed(const std::vector<FlagSpec>& flags, const std::string& name) {
  const auto found = std::find_if(flags.begin(), flags.end(),
                                  [&name](const FlagSpec& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

bool StandsBeforeCommand(const std::string& name) {
  const std::vector<std::string>& flags = FlagsBeforeCommand();
  return std::find(flags.begin(), flags.end(), name) != flags.end();
}

// Returns the index of the command; line.at if none was typed before it.
size_t CommandPlace(const TypedLine& line) {
  size_t i = 1;
  while (i < line.at && absl::StartsWith(WordAt(line, i), "-")) {
    const std::string& flag = line.words[i++];
    if (!IsFlag(flag) || !StandsBeforeCommand(NameOf(flag)) || absl::StrContains(flag, "=")) {
      continue;
    }
    if (WordAt(line, i) == "=") ++i;
    if (i < line.at) ++i;
  }
  return i;
}

void AddIfBegun(const std::string& begin, std::string word, Completion& out) {
  if (absl::StartsWith(word, begin)) out.words.push_back(std::move(word));
}

Completion BeforeCommand(const Cursor& cursor, const std::vector<Command>& commands) {
  Completion out;
  if (StandsBeforeCommand(cursor.flag)) return out;
  if (absl::StartsWith(cursor.word, "-")) {
    for (const std::string& flag : FlagsBeforeCommand()) {
      AddIfBegun(cursor.word, absl::StrCat("--", flag), out);
    }
    for (const char* flag : {"--help", "--version"}) AddIfBegun(cursor.word, flag, out);
    return out;
  }
  for (const Command& command : commands) {
    AddIfBegun(cursor.word, std::string(command.name), out);
  }
  return out;
}

Completion AfterCommand(const Command& command, const Cursor& cursor) {
  const std::vector<FlagSpec> flags = command.flags();
  Completion out;
  out.begin = cursor.word;
  out.before = cursor.before;
  const FlagSpec* flag = FlagNamed(flags, cursor.flag);
  if (flag != nullptr && !flag->is_switch) {
    out.names = flag->names;
    return out;
  }
  if (absl::StartsWith(cursor.word, "--")) {
    for (const FlagSpec& one : flags) AddIfBegun(cursor.word, absl::StrCat("--", one.name), out);
    AddIfBegun(cursor.word, "--help", out);
    return out;
  }
  for (const absl::string_view word : command.words) {
    AddIfBegun(cursor.word, std::string(word), out);
  }
  out.names = command.names;
  return out;
}

}  // namespace

Completion Complete(const TypedLine& line, const std::vector<Command>& commands) {
  const Cursor cursor = CursorOf(line);
  const size_t place = CommandPlace(line);
  if (place >= line.at) return BeforeCommand(cursor, commands);
  for (const Command& command : commands) {
    if (command.name == WordAt(line, place)) return AfterCommand(command, cursor);
  }
  return {};
}

std::string StateDirOn(const TypedLine& line) {
  for (size_t i = 1; i < line.words.size(); ++i) {
    absl::string_view word = line.words[i];
    if (absl::ConsumePrefix(&word, "--state-dir=")) return std::string(word);
    if (word != "--state-dir") continue;
    return WordAt(line, WordAt(line, i + 1) == "=" ? i + 2 : i + 1);
  }
  return "";
}

}  // namespace muster::cli
