#include "operator/placement/cluster/label_selector.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "absl/strings/numbers.h"
#include "base/json_fields.h"

namespace muster::control {
namespace {

constexpr size_t kNameMost = 63;
constexpr size_t kPrefixMost = 253;

bool IsAlphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

// Accepts a name as in a label: letters, digits and "-_." between letters or digits.
bool IsName(std::string_view text) {
  if (text.empty() || text.size() > kNameMost) return false;
  if (!IsAlphanumeric(text.front()) || !IsAlphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsSubdomainPart(std::string_view part) {
  const auto lower = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (part.empty() || !lower(part.front()) || !lower(part.back())) return false;
  return std::all_of(part.begin(), part.end(), [&](char c) { return lower(c) || c == '-'; });
}

bool IsSubdomain(std::string_view text) {
  if (text.empty() || text.size() > kPrefixMost) return false;
  while (true) {
    const size_t dot = text.find('.');
    if (!IsSubdomainPart(text.substr(0, dot))) return false;
    if (dot == text.npos) return true;
    text.remove_prefix(dot + 1);
  }
}

// Parses as Go's strconv.ParseInt does in base 10: an optional sign and digits, nothing else.
std::optional<int64_t> ToInteger(const std::string& text) {
  size_t at = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  if (at == text.size()) return std::nullopt;
  for (size_t i = at; i < text.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) return std::nullopt;
  }
  int64_t value = 0;
  const std::string digits = text[0] == '+' ? text.substr(1) : text;
  return absl::SimpleAtoi(digits, &value) ? std::optional(value) : std::nullopt;
}

bool Contains(const std::vector<std::string>& values, std::string_view value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Returns true if a label's value, null for none, meets the requirement.
bool Holds(const LabelRequirement& requirement, std::optional<std::string_view> value) {
  switch (requirement.op) {
    case SelectorOperator::kIn:
      return value.has_value() && Contains(requirement.values, *value);
    case SelectorOperator::kNotIn:
      return !value.has_value() || !Contains(requirement.values, *value);
    case SelectorOperator::kExists:
      return value.has_value();
    case SelectorOperator::kDoesNotExist:
      return !value.has_value();
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan:
      break;
  }
  if (!value.has_value() || requirement.values.size() != 1) return false;
  const auto have = ToInteger(std::string(*value));
  const auto bound = ToInteger(requirement.values[0]);
  if (!have || !bound) return false;
  return requirement.op == SelectorOperator::kGreaterThan ? *have > *bound : *have < *bound;
}

std::optional<SelectorOperator> ParseOperator(const std::string& name) {
  if (name == "In") return SelectorOperator::kIn;
  if (name == "NotIn") return SelectorOperator::kNotIn;
  if (name == "Exists") return SelectorOperator::kExists;
  if (name == "DoesNotExist") return SelectorOperator::kDoesNotExist;
  if (name == "Gt") return SelectorOperator::kGreaterThan;
  if (name == "Lt") return SelectorOperator::kLessThan;
  return std::nullopt;
}

std::optional<LabelRequirement> ParseRequirement(const Json& json) {
  const auto op = ParseOperator(StringField(json, "operator"));
  if (!op) return std::nullopt;
  return LabelRequirement{StringField(json, "key"), *op, StringsField(json, "values")};
}

NodeSelectorTerm ParseTerm(const Json& json) {
  NodeSelectorTerm term;
  for (const Json& item : ArrayField(json, "matchExpressions")) {
    const auto requirement = ParseRequirement(item);
    term.valid = term.valid && requirement && requirement->IsValid();
    if (requirement) term.expressions.push_back(*requirement);
  }
  for (const Json& item : ArrayField(json, "matchFields")) {
    const auto requirement = ParseRequirement(item);
    // Fields are only compared with one value.
    term.valid =
        term.valid && requirement && requirement->values.size() == 1 &&
        (requirement->op == SelectorOperator::kIn || requirement->op == SelectorOperator::kNotIn);
    if (requirement) term.fields.push_back(*requirement);
  }
  return term;
}

}  // namespace

bool IsLabelKey(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == key.npos) return IsName(key);
  return IsSubdomain(key.substr(0, slash)) && IsName(key.substr(slash + 1));
}

bool IsLabelValue(std::string_view value) { return value.empty() || IsName(value); }

bool LabelRequirement::Matches(const LabelMap& labels) const {
  const auto it = labels.find(key);
  return Holds(*this, it == labels.end() ? std::nullopt : std::optional(it->second));
}

bool LabelRequirement::IsValid() const {
  if (!IsLabelKey(key) || !std::all_of(values.begin(), values.end(), IsLabelValue)) return false;
  switch (op) {
    case SelectorOperator::kIn:
    case SelectorOperator::kNotIn:
      return !values.empty();
    case SelectorOperator::kExists:
    case SelectorOperator::kDoesNotExist:
      return values.empty();
    case SelectorOperator::kGreaterThan:
    case SelectorOperator::kLessThan:
      return values.size() == 1 && ToInteger(values[0]).has_value();
  }
  return false;
}

bool LabelSelector::Matches(const LabelMap& labels) const {
  return !absent && std::all_of(requirements.begin(), requirements.end(),
                                [&](const LabelRequirement& one) { return one.Matches(labels); });
}

LabelSelector ParseLabelSelector(const Json* json) {
  LabelSelector selector;
  if (json == nullptr || !json->is_object()) return selector;
  selector.absent = false;
  for (const auto& [key, value] : LabelField(*json, "matchLabels")) {
    selector.requirements.push_back({key, SelectorOperator::kIn, {value}});
  }
  for (const Json& item : ArrayField(*json, "matchExpressions")) {
    const auto requirement = ParseRequirement(item);
    // Label selectors have no order comparisons.
    if (!requirement || requirement->op == SelectorOperator::kGreaterThan ||
        requirement->op == SelectorOperator::kLessThan) {
      selector.valid = false;
      continue;
    }
    selector.requirements.push_back(*requirement);
  }
  for (const LabelRequirement& one : selector.requirements) {
    selector.valid = selector.valid && one.IsValid();
  }
  return selector;
}

bool NodeSelectorTerm::Matches(const LabelMap& labels, const std::string& node_name) const {
  if (!valid) return false;
  const auto holds = [&](const LabelRequirement& one) { return one.Matches(labels); };
  if (!std::all_of(expressions.begin(), expressions.end(), holds)) return false;
  if (node_name.empty()) return true;
  return std::all_of(fields.begin(), fields.end(), [&](const LabelRequirement& one) {
    const std::string value = one.key == "metadata.name" ? node_name : "";
    return (value == one.values[0]) == (one.op == SelectorOperator::kIn);
  });
}

std::vector<NodeSelectorTerm> ParseNodeSelectorTerms(const Json& json) {
  std::vector<NodeSelectorTerm> terms;
  for (const Json& item : ArrayField(json, "nodeSelectorTerms")) {
    if (ArrayField(item, "matchExpressions").empty() && ArrayField(item, "matchFields").empty()) {
      continue;
    }
    terms.push_back(ParseTerm(item));
  }
  return terms;
}

bool MatchesAnyTerm(const std::vector<NodeSelectorTerm>& terms, const LabelMap& labels,
                    const std::string& node_name) {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const NodeSelectorTerm& term) { return term.Matches(labels, node_name); });
}

}  // namespace muster::control
