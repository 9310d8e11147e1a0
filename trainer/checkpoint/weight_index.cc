#include "trainer/checkpoint/weight_index.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/json_fields.h"
#include "base/status_macros.h"

namespace muster::trainer {
namespace {

// Returns true for the name of a file that lies in the directory itself.
bool IsPlainName(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

}  // namespace

absl::StatusOr<WeightIndex> ParseWeightIndex(std::string_view text) {
  MUSTER_ASSIGN_OR_RETURN(const Json json, ParseUniqueJson(text));
  const Json& map = ObjectField(json, "weight_map");
  if (map.empty()) {
    return absl::InvalidArgumentError("weight_map is missing, or it names no tensor");
  }
  WeightIndex index;
  for (const auto& [tensor, file] : map.items()) {
    if (!file.is_string() || !IsPlainName(file.get<std::string>())) {
      return absl::InvalidArgumentError(absl::StrCat("weight_map: the file of ", tensor, " is ",
                                                     DumpJson(file),
                                                     ", want the name of a file beside the index"));
    }
    index.emplace(tensor, file.get<std::string>());
  }
  return index;
}

std::string FormatWeightIndex(const WeightIndex& index, uint64_t total_bytes) {
  return DumpJson({{"metadata", {{"total_size", total_bytes}}}, {"weight_map", index}}, 1);
}

}  // namespace muster::trainer
