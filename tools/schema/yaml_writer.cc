#include "tools/schema/yaml_writer.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster::schema {
namespace {

// Returns true if the text needs no quotes: it begins with a letter, has only characters without a
// meaning in any YAML version, and is not a reserved word.
bool IsPlain(const std::string& text) {
  static const auto& words =
      *new std::set<std::string>{"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
  if (text.empty() || !absl::ascii_isalpha(static_cast<unsigned char>(text[0]))) return false;
  if (words.count(absl::AsciiStrToLower(text)) > 0) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
  });
}

std::string Scalar(const Json& json) {
  if (json.is_string() && IsPlain(json.get<std::string>())) return json.get<std::string>();
  return DumpJson(json);
}

void Write(const Json& json, int indent, std::string& out);

// Writes a value after `key:` or `-`: scalars and empty containers on the same line, others below.
void WriteValue(const Json& json, int indent, std::string& out) {
  if (json.is_structured() && !json.empty()) {
    absl::StrAppend(&out, "\n");
    Write(json, indent, out);
  } else {
    absl::StrAppend(&out, " ", Scalar(json), "\n");
  }
}

void Write(const Json& json, int indent, std::string& out) {
  const std::string margin(static_cast<size_t>(indent), ' ');
  if (json.is_array()) {
    for (const Json& item : json) {
      absl::StrAppend(&out, margin, "-");
      if (!item.is_object() || item.empty()) {
        WriteValue(item, indent + 2, out);
        continue;
      }
      std::string inner;
      Write(item, indent + 2, inner);
      absl::StrAppend(&out, " ", inner.substr(static_cast<size_t>(indent) + 2));
    }
    return;
  }
  for (const auto& [key, value] : json.items()) {
    absl::StrAppend(&out, margin, Scalar(Json(key)), ":");
    WriteValue(value, value.is_array() ? indent : indent + 2, out);
  }
}

}  // namespace

std::string WriteYaml(const Json& json) {
  std::string out;
  if (json.is_structured() && !json.empty()) {
    Write(json, 0, out);
  } else {
    absl::StrAppend(&out, Scalar(json), "\n");
  }
  return out;
}

}  // namespace muster::schema
