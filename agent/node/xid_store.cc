#include "agent/node/xid_store.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace muster::agent {

std::string FormatXids(const XidCounts& counts) {
  Json all = Json::object();
  for (const auto& [key, count] : counts) all[key.first][absl::StrCat(key.second)] = count;
  return DumpJson(all);
}

absl::StatusOr<XidCounts> ParseXids(std::string_view text) {
  const auto wrong = [](const std::string& where) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, R"(: wants counts by GPU and XID, as {"GPU-5f...": {"79": 1}})"));
  };
  MUSTER_ASSIGN_OR_RETURN(const Json all, ParseJson(text));
  if (!all.is_object()) return wrong("the file");
  XidCounts counts;
  for (const auto& [uuid, xids] : all.items()) {
    if (!xids.is_object()) return wrong(uuid);
    for (const auto& [name, count] : xids.items()) {
      uint64_t xid = 0;
      if (!absl::SimpleAtoi(name, &xid) || !count.is_number_unsigned()) return wrong(uuid);
      if (counts.size() < kMostXidPairs) counts[{uuid, xid}] = count.get<uint64_t>();
    }
  }
  return counts;
}

}  // namespace muster::agent
