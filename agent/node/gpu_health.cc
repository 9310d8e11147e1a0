#include "agent/node/gpu_health.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace muster::agent {

void Count(const std::vector<XidEvent>& events, XidCounts& counts) {
  for (const XidEvent& event : events) {
    const std::pair<std::string, uint64_t> key(event.gpu_uuid, event.xid);
    const auto known = counts.find(key);
    if (known != counts.end()) {
      ++known->second;
    } else if (counts.size() < kMostXidPairs) {
      counts[key] = 1;
    }
  }
}

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

std::string FatalXidMeaning(uint64_t xid) {
  switch (xid) {
    case 46:
      return "the GPU has stopped processing";
    case 48:
      return "an ECC error in two bits, which cannot be corrected";
    case 62:
      return "a micro-controller of the GPU has halted";
    case 64:
      return "a row of memory could not be remapped";
    case 74:
      return "an NVLink error";
    case 79:
      return "the GPU has fallen off the bus";
    case 95:
      return "an ECC error that was not contained";
    case 110:
      return "a security fault";
    case 119:
      return "the GPU's system processor (GSP) does not answer";
    case 120:
      return "the GPU's system processor (GSP) has failed";
    case 140:
      return "an ECC error from which the GPU has not recovered";
    case 143:
      return "initialisation of the GPU has failed";
    case 158:
      return "the GPU has a fatal timeout";
    default:
      return "";
  }
}

std::vector<HealthFault> FaultsOf(const GpuReading& gpu, const XidCounts& xids) {
  std::vector<HealthFault> faults;
  for (auto it = xids.lower_bound({gpu.uuid, 0}); it != xids.end(); ++it) {
    const auto& [uuid, xid] = it->first;
    if (uuid != gpu.uuid) break;
    const std::string meaning = FatalXidMeaning(xid);
    if (!meaning.empty()) faults.push_back({"FatalXid", absl::StrCat("XID ", xid, ": ", meaning)});
  }
  if (gpu.lost) faults.push_back({"GpuLost", "the driver no longer reaches the GPU"});
  if (gpu.row_remap_failed) {
    faults.push_back({"RowRemapFailure", "no spare row is left for a broken one: replace the GPU"});
  }
  if (gpu.ecc_uncorrected.value_or(0) > 0) {
    faults.push_back({"UncorrectableEcc",
                      absl::StrCat(*gpu.ecc_uncorrected,
                                   " uncorrectable ECC errors since the driver was loaded")});
  }
  return faults;
}

}  // namespace muster::agent
