#include "cli/flags/completion_script.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace muster::cli {
namespace {

constexpr char kBash[] = R"(FUNCTION() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]/#\~/$HOME}" completion words "$COMP_CWORD" -- "${COMP_WORDS[@]}" 2>/dev/null))
}
complete -o bashdefault -o default -F FUNCTION PROGRAM
)";

constexpr char kZsh[] = R"(#compdef PROGRAM
FUNCTION() {
  local -a found
  found=("${(@f)$("${words[1]/#\~/$HOME}" completion words $((CURRENT - 1)) -- "${words[@]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then
    compadd -a found
  else
    _files
  fi
}
compdef FUNCTION PROGRAM
)";

constexpr char kFish[] = R"(function _FUNCTION_words
  set -l before (commandline -opc)
  $before[1] completion words (count $before) -- $before (commandline -ct) 2>/dev/null
end
complete -c PROGRAM -a '(_FUNCTION_words)'
)";

}  // namespace

absl::StatusOr<std::string> CompletionScript(const std::string& shell, const std::string& program) {
  const char* script = nullptr;
  if (shell == "bash") script = kBash;
  if (shell == "zsh") script = kZsh;
  if (shell == "fish") script = kFish;
  if (script == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("for which shell? ", program, " completion bash|zsh|fish"));
  }
  const std::string function = absl::StrCat("_", absl::StrReplaceAll(program, {{"-", "_"}}));
  return absl::StrReplaceAll(script, {{"FUNCTION", function}, {"PROGRAM", program}});
}

}  // namespace muster::cli
