#include "cli/flags/flags.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/flags/invocation.h"

namespace muster::cli {
namespace {

const FlagSpec* Find(const std::vector<FlagSpec>& specs, absl::string_view name) {
  for (const FlagSpec& spec : specs) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

std::string NameInHelp(const FlagSpec& spec) {
  return absl::StrCat("--", spec.name, spec.is_switch ? "" : " VALUE");
}

// Formats the flags for `muster COMMAND --help`.
std::string HelpOf(const std::vector<FlagSpec>& specs) {
  size_t width = 0;
  for (const FlagSpec& spec : specs) width = std::max(width, NameInHelp(spec).size());
  std::string help = "flags:\n";
  for (const FlagSpec& spec : specs) {
    absl::StrAppendFormat(&help, "  %-*s  %s\n", static_cast<int>(width), NameInHelp(spec),
                          spec.help);
  }
  return help;
}

absl::Status UnknownFlag(const std::vector<FlagSpec>& specs, absl::string_view name) {
  const std::string known = absl::StrJoin(specs, ", ", [](std::string* out, const FlagSpec& spec) {
    absl::StrAppend(out, "--", spec.name);
  });
  std::vector<std::string> names;
  for (const FlagSpec& spec : specs) names.push_back(absl::StrCat("--", spec.name));
  return absl::InvalidArgumentError(
      absl::StrCat("there is no flag --", name, DidYouMean(absl::StrCat("--", name), names),
                   "; there ", specs.size() == 1 ? "is " : "are ", known.empty() ? "none" : known));
}

}  // namespace

absl::StatusOr<Flags> Flags::Parse(const std::vector<std::string>& arguments,
                                   const std::vector<FlagSpec>& specs) {
  Flags flags;
  bool only_positional = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (only_positional || argument.size() < 3 || argument.compare(0, 2, "--") != 0) {
      if (argument == "--" && !only_positional) {
        only_positional = true;
      } else {
        flags.positional_.push_back(argument);
      }
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const FlagSpec* spec = Find(specs, name);
    if (spec == nullptr && name == "help") return absl::CancelledError(HelpOf(specs));
    if (spec == nullptr) return UnknownFlag(specs, name);
    if (spec->is_switch) {
      if (equals != std::string::npos) {
        return absl::InvalidArgumentError(absl::StrCat("--", name, " takes no value"));
      }
      flags.values_[name] = "true";
    } else if (equals != std::string::npos) {
      flags.values_[name] = argument.substr(equals + 1);
    } else if (i + 1 < arguments.size()) {
      flags.values_[name] = arguments[++i];
    } else {
      return absl::InvalidArgumentError(absl::StrCat("--", name, " needs a value: ", spec->help));
    }
  }
  return flags;
}

std::string Flags::Get(absl::string_view name, absl::string_view fallback) const {
  const auto it = values_.find(std::string(name));
  return it == values_.end() ? std::string(fallback) : it->second;
}

absl::StatusOr<int64_t> Flags::GetInt(absl::string_view name, int64_t fallback) const {
  const auto it = values_.find(std::string(name));
  if (it == values_.end()) return fallback;
  int64_t value = 0;
  if (!absl::SimpleAtoi(it->second, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, " needs a whole number, not '", it->second, "'"));
  }
  return value;
}

absl::StatusOr<double> Flags::GetDouble(absl::string_view name, double fallback) const {
  const auto it = values_.find(std::string(name));
  if (it == values_.end()) return fallback;
  double value = 0;
  if (!absl::SimpleAtod(it->second, &value) || !std::isfinite(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", name, " needs a number, not '", it->second, "'"));
  }
  return value;
}

absl::StatusOr<std::string> Flags::OnePositional() const {
  if (positional_.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", positional_[1], "' is one word too many after '", positional_[0], "'"));
  }
  return positional_.empty() ? std::string() : positional_[0];
}

}  // namespace muster::cli
