#include "operator/api/schema.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "planner/model_presets.h"

namespace muster::control {
namespace {

constexpr size_t kMaxShown = 60;
constexpr size_t kMaxCompared = 64;

// Returns the optimal string alignment distance: swapped neighbours count as one edit.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

const v1alpha1::FieldSchema& SchemaOf(const google::protobuf::FieldDescriptor& field) {
  return field.options().GetExtension(v1alpha1::schema);
}

const v1alpha1::MessageSchema& SchemaOf(const google::protobuf::Descriptor& message) {
  return message.options().GetExtension(v1alpha1::object);
}

std::vector<std::string> ValuesOf(const v1alpha1::FieldSchema& field) {
  std::vector<std::string> values(field.values().begin(), field.values().end());
  if (field.values_of() == v1alpha1::MODEL_PRESETS) {
    for (const planner::ModelPreset& preset : planner::ModelPresets()) {
      values.emplace_back(preset.name);
    }
  }
  return values;
}

std::optional<PlaceKind> PlaceOf(const v1alpha1::FieldSchema& field) {
  if (field.place() == v1alpha1::NO_PLACE) return std::nullopt;
  return field.place() == v1alpha1::PATH ? PlaceKind::kPath : PlaceKind::kPathOrObjects;
}

bool IsRaw(const google::protobuf::Descriptor& message) {
  return !SchemaOf(message).raw_schema().empty();
}

const google::protobuf::FieldDescriptor& RawField(const google::protobuf::Descriptor& message) {
  return *message.field(0);
}

std::vector<std::string> FieldNames(const google::protobuf::Descriptor& message) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->json_name());
  return names;
}

std::string Nearest(absl::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kMaxCompared) return "";
  const std::string lower = absl::AsciiStrToLower(word);
  std::string best;
  size_t best_distance = word.size() <= 3 ? 2 : word.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    const size_t distance = EditDistance(lower, absl::AsciiStrToLower(candidate));
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string JoinOr(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  if (words.size() == 1) return words[0];
  return absl::StrCat(absl::StrJoin(words.begin(), words.end() - 1, ", "), " or ", words.back());
}

std::string Describe(const Json& json) {
  if (json.is_object()) return "an object";
  if (json.is_array()) return "a list";
  const std::string text = DumpJson(json);
  const bool cut = text.size() > kMaxShown;
  const std::string shown = cut ? absl::StrCat(text.substr(0, kMaxShown), "...") : text;
  return json.is_string() ? absl::StrCat("the string ", shown) : shown;
}

bool IsOffByDefault(const v1alpha1::FieldSchema& duration) {
  return duration.default_() == "\"0s\"";
}

bool IsPositiveDuration(absl::string_view text) {
  const auto digits = [&text] {
    size_t n = 0;
    while (n < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[n]))) ++n;
    text.remove_prefix(n);
    return n > 0;
  };
  const absl::string_view whole = text;
  if (text.empty()) return false;
  while (!text.empty()) {
    if (!digits()) return false;
    if (text.substr(0, 1) == "." && (text.remove_prefix(1), !digits())) return false;
    if (text.substr(0, 2) == "ms") {
      text.remove_prefix(2);
    } else if (!text.empty() && (text[0] == 's' || text[0] == 'm' || text[0] == 'h')) {
      text.remove_prefix(1);
    } else {
      return false;
    }
  }
  absl::Duration duration;
  return absl::ParseDuration(whole, &duration) && duration > absl::ZeroDuration() &&
         duration < absl::InfiniteDuration();
}

}  // namespace muster::control
