#include "base/json.h"

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace muster {
namespace {

constexpr int kMaxDepth = 128;

// nlohmann's parser does not recurse but its destructor does, so the depth is checked on the text
// first.
absl::Status CheckDepth(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxDepth) {
        return absl::InvalidArgumentError(
            absl::StrCat("JSON is nested deeper than ", kMaxDepth, " at byte ", i));
      }
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Json> Parse(std::string_view text, size_t max_bytes,
                           const Json::parser_callback_t& see) {
  if (text.size() > max_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON of ", text.size(), " bytes is over the limit of ", max_bytes));
  }
  if (absl::Status depth = CheckDepth(text); !depth.ok()) return depth;
  try {
    return Json::parse(text, see);
  } catch (const Json::exception& e) {
    return absl::InvalidArgumentError(absl::StrCat("not valid JSON: ", e.what()));
  }
}

}  // namespace

absl::StatusOr<Json> ParseJson(std::string_view text, size_t max_bytes) {
  return Parse(text, max_bytes, nullptr);
}

absl::StatusOr<Json> ParseUniqueJson(std::string_view text, size_t max_bytes) {
  std::vector<std::set<std::string>> open;  // the keys so far of the objects around
  std::string twice;
  const auto see = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event != Json::parse_event_t::key) return true;
    const std::string& key = parsed.get_ref<const std::string&>();
    if (!open.back().insert(key).second && twice.empty()) twice = key;
    return true;
  };
  absl::StatusOr<Json> json = Parse(text, max_bytes, see);
  if (!json.ok() || twice.empty()) return json;
  return absl::InvalidArgumentError(
      absl::StrCat("the JSON has the key ", DumpJson(twice), " twice in one object"));
}

std::string DumpJson(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace muster
