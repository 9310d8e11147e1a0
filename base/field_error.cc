#include "base/field_error.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster {
namespace {

constexpr size_t kMaxKeyShown = 80;

bool IsPlainName(absl::string_view field) {
  return !field.empty() && field.size() <= kMaxKeyShown &&
         std::all_of(field.begin(), field.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '_' || c == '-';
         });
}

}  // namespace

std::string FieldPath(absl::string_view parent, absl::string_view field) {
  if (!IsPlainName(field)) {
    std::string shown(field.substr(0, kMaxKeyShown));
    for (char& c : shown) {
      if (absl::ascii_iscntrl(static_cast<unsigned char>(c)) || c == '"') c = '?';
    }
    return absl::StrCat(parent, "[\"", shown, "\"]");
  }
  return parent.empty() ? std::string(field) : absl::StrCat(parent, ".", field);
}

std::string ItemPath(absl::string_view parent, size_t index) {
  return absl::StrCat(parent, "[", index, "]");
}

absl::Status ToStatus(const FieldErrors& errors) {
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrJoin(errors, "; ", [](std::string* out, const FieldError& error) {
        absl::StrAppend(out, error.path, ": ", error.message);
      }));
}

}  // namespace muster
