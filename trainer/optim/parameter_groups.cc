#include "trainer/optim/parameter_groups.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace muster::trainer {

absl::StatusOr<ParameterGroups> ParameterGroups::Make(const std::vector<ParameterGroup>& groups) {
  ParameterGroups out;
  for (size_t i = 0; i < groups.size(); ++i) {
    auto expression = std::make_unique<const re2::RE2>(groups[i].match, re2::RE2::Quiet);
    if (!expression->ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("optimizer.groups[", i, "].match: \"", groups[i].match,
                       "\" is no regular expression in RE2 syntax: ", expression->error()));
    }
    out.groups_.push_back({groups[i], std::move(expression)});
  }
  return out;
}

UpdateSettings ParameterGroups::SettingsOf(const std::string& name, bool decay) const {
  for (const Group& group : groups_) {
    if (!re2::RE2::PartialMatch(name, *group.expression)) continue;
    return {.decay = decay,
            .weight_decay = group.group.weight_decay,
            .rate_factor = group.group.rate_factor.value_or(1.0)};
  }
  return {.decay = decay};
}

absl::Status ParameterGroups::CheckAllFind(const std::vector<std::string>& names) const {
  for (size_t i = 0; i < groups_.size(); ++i) {
    const bool found = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return re2::RE2::PartialMatch(name, *groups_[i].expression);
    });
    if (found || names.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer.groups[", i, "].match: \"", groups_[i].group.match,
                     "\" finds none of the model's parameters, which have names such as ",
                     names.front(), " and ", names.back()));
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
