#include "cli/simulate/json_reader.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "operator/queue/book/queue_from_spec.h"

namespace muster::cli {
namespace {

const Json& EmptyList() {
  static const Json* const kEmpty = new Json(Json::array());
  return *kEmpty;
}

const Json& EmptyObject() {
  static const Json* const kEmpty = new Json(Json::object());
  return *kEmpty;
}

}  // namespace

JsonReader::JsonReader(const Json& object, std::string path, absl::Status& status)
    : object_(object.is_object() ? object : EmptyObject()),
      path_(std::move(path)),
      status_(status) {
  if (!object.is_object()) Fail("", "must be an object");
}

std::string JsonReader::PathOf(const char* name) const {
  if (path_.empty() || *name == '\0') return absl::StrCat(path_, name);
  return absl::StrCat(path_, ".", name);
}

void JsonReader::Fail(const char* name, absl::string_view message) {
  if (!status_.ok()) return;
  const std::string path = PathOf(name);
  status_ = absl::InvalidArgumentError(
      absl::StrCat(path.empty() ? "the file" : path, path.empty() ? " " : ": ", message));
}

const Json* JsonReader::Find(const char* name) {
  asked_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool JsonReader::Has(const char* name) { return Find(name) != nullptr; }

std::string JsonReader::Text(const char* name, const std::string& fallback) {
  const Json* value = Find(name);
  if (value == nullptr) return fallback;
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number()) return DumpJson(*value);
  Fail(name, "must be a string");
  return fallback;
}

std::string JsonReader::Word(const char* name, const std::string& fallback,
                             const std::vector<std::string>& known) {
  const std::string word = Text(name, fallback);
  if (word == fallback || std::find(known.begin(), known.end(), word) != known.end()) return word;
  Fail(name, absl::StrCat(DumpJson(Json(word)),
                          " is not known here; known: ", absl::StrJoin(known, ", ")));
  return fallback;
}

double JsonReader::Number(const char* name, double fallback) {
  const Json* value = Find(name);
  if (value == nullptr) return fallback;
  double number = 0;
  if (value->is_number()) return value->get<double>();
  if (value->is_string() && absl::SimpleAtod(value->get<std::string>(), &number)) return number;
  Fail(name, "must be a number");
  return fallback;
}

int64_t JsonReader::Integer(const char* name, int64_t fallback, int64_t least, int64_t most) {
  const double number = Number(name, static_cast<double>(fallback));
  if (std::trunc(number) != number) {
    Fail(name, "must be a whole number");
    return fallback;
  }
  if (!(number >= static_cast<double>(least) && number <= static_cast<double>(most))) {
    Fail(name, absl::StrCat("must be ", least, " to ", most));
    return fallback;
  }
  return static_cast<int64_t>(number);
}

bool JsonReader::Switch(const char* name, bool fallback) {
  const Json* value = Find(name);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  Fail(name, "must be true or false");
  return fallback;
}

absl::Duration JsonReader::Duration(const char* name, absl::Duration fallback) {
  if (!Has(name)) return fallback;
  absl::Duration duration;
  if (absl::ParseDuration(Text(name, ""), &duration) && duration >= absl::ZeroDuration()) {
    return duration;
  }
  Fail(name, "must be a duration like 90s or 24h");
  return fallback;
}

int64_t JsonReader::Quantity(const char* name, const std::string& resource, int64_t fallback) {
  if (!Has(name)) return fallback;
  const absl::StatusOr<int64_t> amount = control::AmountOf(resource, Text(name, ""));
  if (amount.ok()) return *amount;
  Fail(name, amount.status().message());
  return fallback;
}

const Json& JsonReader::List(const char* name) {
  const Json* value = Find(name);
  if (value == nullptr) return EmptyList();
  if (value->is_array()) return *value;
  Fail(name, "must be a list");
  return EmptyList();
}

const Json& JsonReader::Object(const char* name) {
  const Json* value = Find(name);
  return value == nullptr ? EmptyObject() : *value;
}

void JsonReader::Finish() {
  std::vector<std::string> known(asked_.begin(), asked_.end());
  for (const auto& [name, value] : object_.items()) {
    if (asked_.contains(name)) continue;
    Fail(name.c_str(), absl::StrCat("is not known here; known: ", absl::StrJoin(known, ", ")));
  }
}

}  // namespace muster::cli
