#include "trainer/model/families/config_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::trainer {
namespace {

constexpr int32_t kMost = 1 << 24;

}  // namespace

const Json& ConfigReader::Find(const char* field) {
  asked_.insert(field);
  static const Json& null = *new Json();
  const auto found = config_.find(field);
  return found == config_.end() ? null : *found;
}

int32_t ConfigReader::Integer(const char* field) {
  const Json& value = Find(field);
  if (value.is_number_integer() && value >= 1 && value <= kMost) return value.get<int32_t>();
  Fail(absl::StrCat(field, " must be an integer from 1 to ", kMost));
  return 1;
}

int32_t ConfigReader::IntegerOr(const char* field, int32_t otherwise) {
  return Find(field).is_null() ? otherwise : Integer(field);
}

double ConfigReader::NumberOr(const char* field, double otherwise) {
  const Json& value = Find(field);
  if (value.is_null()) return otherwise;
  if (value.is_number() && value > 0) return value.get<double>();
  Fail(absl::StrCat(field, " must be a number above 0"));
  return otherwise;
}

bool ConfigReader::BoolOr(const char* field, bool otherwise) {
  const Json& value = Find(field);
  if (value.is_null()) return otherwise;
  if (value.is_boolean()) return value.get<bool>();
  Fail(absl::StrCat(field, " must be true or false"));
  return otherwise;
}

void ConfigReader::Requires(const char* field, const Json& only) {
  const Json& value = Find(field);
  if (value.is_null() || value == only) return;
  differences_.push_back(
      absl::StrCat(field, " is ", DumpJson(value), ", and only ", DumpJson(only), " is supported"));
}

void RenameField(Json& config, const char* field, const char* name) {
  const auto found = config.find(field);
  if (found == config.end()) return;
  Json value = std::move(*found);
  config.erase(found);
  if (!value.is_null()) config[name] = std::move(value);
}

}  // namespace muster::trainer
