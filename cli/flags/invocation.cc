#include "cli/flags/invocation.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "operator/api/schema.h"

namespace muster::cli {
namespace {

bool IsHelp(const std::string& word) { return word == "--help" || word == "-h"; }

bool IsCommon(const std::string& word) {
  const std::vector<std::string>& flags = FlagsBeforeCommand();
  return std::any_of(flags.begin(), flags.end(), [&word](const std::string& flag) {
    return word == absl::StrCat("--", flag) ||
           absl::StartsWith(word, absl::StrCat("--", flag, "="));
  });
}

// Reads the command's own arguments; words after `--` are never flags.
void ReadCommandsArguments(const std::vector<std::string>& arguments, size_t begin,
                           Invocation& invocation) {
  bool flags = true;
  for (size_t i = begin; i < arguments.size(); ++i) {
    flags = flags && arguments[i] != "--";
    if (flags && IsHelp(arguments[i])) {
      invocation.help = true;
    } else {
      invocation.arguments.push_back(arguments[i]);
    }
  }
}

}  // namespace

const std::vector<std::string>& FlagsBeforeCommand() {
  static const auto* flags = new std::vector<std::string>{"state-dir", "server"};
  return *flags;
}

absl::StatusOr<Invocation> ReadInvocation(const std::vector<std::string>& arguments) {
  Invocation invocation;
  size_t i = 0;
  for (; i < arguments.size() && absl::StartsWith(arguments[i], "-"); ++i) {
    const std::string& word = arguments[i];
    if (IsHelp(word)) {
      invocation.help = true;
    } else if (word == "--version") {
      invocation.version = true;
    } else if (!IsCommon(word)) {
      return absl::InvalidArgumentError(
          absl::StrCat(word,
                       " stands before the command: only --state-dir and --server may, a "
                       "command's own flags come after it"));
    } else {
      invocation.arguments.push_back(word);
      const bool needs_value = !absl::StrContains(word, "=");
      if (needs_value && i + 1 < arguments.size()) invocation.arguments.push_back(arguments[++i]);
    }
  }
  if (i < arguments.size() && arguments[i] == "help") {
    invocation.help = true;
    ++i;
  }
  if (i < arguments.size()) invocation.command = arguments[i++];
  ReadCommandsArguments(arguments, i, invocation);
  return invocation;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& names) {
  const std::string nearest = control::Nearest(word, names);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

}  // namespace muster::cli
