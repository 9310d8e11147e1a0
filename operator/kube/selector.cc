#include "operator/kube/selector.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "operator/kube/api_error.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {
namespace {

std::string Trim(std::string_view text) {
  return std::string(absl::StripAsciiWhitespace(std::string(text)));
}

// Splits at commas that are not inside parentheses.
std::vector<std::string> SplitRequirements(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

absl::Status Unreadable(std::string_view text) {
  return ApiError(Reason::kBadRequest,
                  absl::StrCat("unable to parse selector requirement \"", std::string(text), "\""));
}

bool IsLabelKey(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

struct Comparison {
  std::string left;
  std::string right;
  bool equal = true;
};

// Splits "a=b", "a==b" or "a!=b". Returns false if there is no '='.
bool SplitComparison(const std::string& text, Comparison& out) {
  const size_t at = text.find('=');
  if (at == std::string::npos || at == 0) return false;
  const bool negated = text[at - 1] == '!';
  const size_t right = at + 1 < text.size() && text[at + 1] == '=' && !negated ? at + 2 : at + 1;
  out.left = Trim(text.substr(0, negated ? at - 1 : at));
  out.right = Trim(text.substr(right));
  out.equal = !negated;
  return true;
}

std::vector<std::string> SupportedFields(const ResourceType& type) {
  std::vector<std::string> fields = {"metadata.name"};
  if (type.namespaced) fields.push_back("metadata.namespace");
  if (type == kPods) {
    for (const char* field :
         {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
          "status.phase", "status.podIP", "status.nominatedNodeName"}) {
      fields.push_back(field);
    }
  }
  if (type == kNodes) fields.push_back("spec.unschedulable");
  if (type == kSecrets) fields.push_back("type");
  if (type == kEvents) {
    for (const char* field : {"involvedObject.kind", "involvedObject.namespace",
                              "involvedObject.name", "involvedObject.uid", "reason", "type"}) {
      fields.push_back(field);
    }
  }
  return fields;
}

std::string FieldValue(const Json& object, const std::vector<std::string>& path) {
  const Json* at = &object;
  for (const std::string& field : path) {
    at = Find(*at, {field});
    if (at == nullptr) return "";
  }
  if (at->is_string()) return at->get<std::string>();
  return at->is_boolean() ? (at->get<bool>() ? "true" : "false") : "";
}

}  // namespace

absl::StatusOr<LabelSelector::Requirement> LabelSelector::ParseSet(std::string_view text) {
  const std::string whole = Trim(text);
  const size_t open = whole.find('(');
  if (whole.back() != ')') return Unreadable(text);
  std::vector<std::string> words =
      absl::StrSplit(whole.substr(0, open), absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() != 2 || !IsLabelKey(words[0])) return Unreadable(text);
  Requirement requirement;
  requirement.key = words[0];
  if (words[1] == "in") {
    requirement.op = Operator::kIn;
  } else if (words[1] == "notin") {
    requirement.op = Operator::kNotIn;
  } else {
    return Unreadable(text);
  }
  const std::string inside = whole.substr(open + 1, whole.size() - open - 2);
  if (inside.find_first_of("()") != std::string::npos) return Unreadable(text);
  for (const auto& value : absl::StrSplit(inside, ',')) {
    requirement.values.push_back(Trim(std::string(value)));
  }
  return requirement;
}

absl::StatusOr<LabelSelector::Requirement> LabelSelector::ParseRequirement(std::string_view text) {
  const std::string whole = Trim(text);
  if (whole.find('(') != std::string::npos) return ParseSet(whole);
  Requirement requirement;
  if (Comparison comparison; SplitComparison(whole, comparison)) {
    requirement = {
        comparison.left, comparison.equal ? Operator::kIn : Operator::kNotIn, {comparison.right}};
  } else if (whole[0] == '!') {
    requirement = {Trim(whole.substr(1)), Operator::kAbsent, {}};
  } else {
    requirement = {whole, Operator::kExists, {}};
  }
  if (!IsLabelKey(requirement.key)) return Unreadable(text);
  return requirement;
}

absl::StatusOr<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  if (Trim(text).empty()) return selector;
  for (const std::string& part : SplitRequirements(text)) {
    if (Trim(part).empty()) return Unreadable(text);
    MUSTER_ASSIGN_OR_RETURN(Requirement requirement, ParseRequirement(part));
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

bool LabelSelector::Matches(const Json& object) const {
  for (const Requirement& requirement : requirements_) {
    const Json* value = Find(object, {"metadata", "labels", requirement.key});
    const bool present = value != nullptr && value->is_string();
    const bool listed =
        present && std::find(requirement.values.begin(), requirement.values.end(),
                             value->get_ref<const std::string&>()) != requirement.values.end();
    switch (requirement.op) {
      case Operator::kIn:
        if (!listed) return false;
        break;
      case Operator::kNotIn:  // an absent label is not in any set
        if (listed) return false;
        break;
      case Operator::kExists:
        if (!present) return false;
        break;
      case Operator::kAbsent:
        if (present) return false;
        break;
    }
  }
  return true;
}

absl::StatusOr<FieldSelector> FieldSelector::Parse(const ResourceType& type,
                                                   std::string_view text) {
  FieldSelector selector;
  if (Trim(text).empty()) return selector;
  const std::vector<std::string> supported = SupportedFields(type);
  for (const auto& part : absl::StrSplit(std::string(text), ',')) {
    Comparison comparison;
    if (!SplitComparison(Trim(std::string(part)), comparison)) return Unreadable(std::string(part));
    if (std::find(supported.begin(), supported.end(), comparison.left) == supported.end()) {
      return ApiError(Reason::kBadRequest,
                      absl::StrCat("field label not supported: ", comparison.left));
    }
    selector.requirements_.push_back(
        {absl::StrSplit(comparison.left, '.'), comparison.right, comparison.equal});
  }
  return selector;
}

bool FieldSelector::Matches(const Json& object) const {
  return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& r) {
    return (FieldValue(object, r.path) == r.value) == r.equal;
  });
}

}  // namespace muster::kube
