#include "agent/node/machine_past.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kFailedIsFault = absl::Seconds(30);

absl::Time WholeSeconds(absl::Time time) {
  return absl::FromUnixSeconds(absl::ToUnixSeconds(time));
}

// NVMe says "dead"; SCSI "offline" and "transport-offline". Other states come and go.
bool HasFailed(const DiskReading& disk) {
  return disk.state == "dead" || disk.state == "offline" || disk.state == "transport-offline";
}

Json ToJson(const LinkPast& past) {
  Json json = {{"wasActive", past.was_active}};
  if (past.down_since) json["downSince"] = absl::ToUnixSeconds(*past.down_since);
  if (past.up_since) json["upSince"] = absl::ToUnixSeconds(*past.up_since);
  if (past.link_downs) json["linkDowns"] = *past.link_downs;
  for (const absl::Time down : past.downs) json["downs"].push_back(absl::ToUnixSeconds(down));
  if (past.hour) json["hour"] = absl::ToUnixSeconds(*past.hour);
  if (past.hour) json["symbolErrors"] = past.symbol_errors;
  if (past.many_errors) json["manyErrors"] = absl::ToUnixSeconds(*past.many_errors);
  return json;
}

absl::Status Wrong(const std::string& where) {
  return absl::InvalidArgumentError(
      absl::StrCat(where, R"(: wants {"ports": {"mlx5_0:1": {...}}, "failedDisks": {"sda": 12}})"));
}

absl::StatusOr<std::optional<uint64_t>> Count(const Json& json, const std::string& key) {
  const auto found = json.find(key);
  if (found == json.end()) return std::nullopt;
  if (!found->is_number_unsigned()) return Wrong(key);
  return found->get<uint64_t>();
}

absl::StatusOr<std::optional<absl::Time>> TimeAt(const Json& json, const std::string& key) {
  MUSTER_ASSIGN_OR_RETURN(const std::optional<uint64_t> seconds, Count(json, key));
  if (!seconds.has_value()) return std::nullopt;
  return absl::FromUnixSeconds(static_cast<int64_t>(*seconds));
}

absl::StatusOr<LinkPast> ParseLink(const Json& json) {
  if (!json.is_object()) return Wrong("a port");
  LinkPast past;
  const auto active = json.find("wasActive");
  if (active == json.end() || !active->is_boolean()) return Wrong("wasActive");
  past.was_active = active->get<bool>();
  MUSTER_ASSIGN_OR_RETURN(past.down_since, TimeAt(json, "downSince"));
  MUSTER_ASSIGN_OR_RETURN(past.up_since, TimeAt(json, "upSince"));
  MUSTER_ASSIGN_OR_RETURN(past.link_downs, Count(json, "linkDowns"));
  const auto downs = json.find("downs");
  if (downs != json.end() && !downs->is_array()) return Wrong("downs");
  if (downs != json.end()) {
    for (const Json& down : *downs) {
      if (!down.is_number_unsigned() || past.downs.size() == kFlaps) return Wrong("downs");
      past.downs.push_back(absl::FromUnixSeconds(down.get<int64_t>()));
    }
  }
  MUSTER_ASSIGN_OR_RETURN(past.hour, TimeAt(json, "hour"));
  MUSTER_ASSIGN_OR_RETURN(const std::optional<uint64_t> errors, Count(json, "symbolErrors"));
  past.symbol_errors = errors.value_or(0);
  MUSTER_ASSIGN_OR_RETURN(past.many_errors, TimeAt(json, "manyErrors"));
  return past;
}

}  // namespace

std::string PortName(const InfinibandReading& port) {
  return absl::StrCat(port.device, ":", port.port);
}

void Observe(const std::vector<InfinibandReading>& ports, const std::vector<DiskReading>& disks,
             absl::Time now, MachinePast& past) {
  MachinePast next;
  for (const InfinibandReading& port : ports) {
    LinkPast& link = next.ports[PortName(port)];
    if (const auto known = past.ports.find(PortName(port)); known != past.ports.end()) {
      link = known->second;
    }
    Observe(port, WholeSeconds(now), link);
  }
  for (const DiskReading& disk : disks) {
    if (!HasFailed(disk)) continue;
    const auto known = past.failed_disks.find(disk.name);
    next.failed_disks[disk.name] =
        known == past.failed_disks.end() ? WholeSeconds(now) : known->second;
  }
  past = std::move(next);
}

std::vector<HealthFault> FaultsOf(const InfinibandReading& port, const MachinePast& past,
                                  absl::Time now) {
  const auto link = past.ports.find(PortName(port));
  if (link == past.ports.end()) return {};
  return FaultsOf(port, link->second, now);
}

std::vector<HealthFault> FaultsOf(const DiskReading& disk, const MachinePast& past,
                                  absl::Time now) {
  const auto failed = past.failed_disks.find(disk.name);
  if (failed == past.failed_disks.end() || now - failed->second < kFailedIsFault) return {};
  return {{"DiskFailed", absl::StrCat("its controller is ", disk.state)}};
}

std::string FormatMachinePast(const MachinePast& past) {
  Json all = {{"ports", Json::object()}, {"failedDisks", Json::object()}};
  for (const auto& [name, link] : past.ports) all["ports"][name] = ToJson(link);
  for (const auto& [name, since] : past.failed_disks) {
    all["failedDisks"][name] = absl::ToUnixSeconds(since);
  }
  return DumpJson(all);
}

absl::StatusOr<MachinePast> ParseMachinePast(std::string_view text) {
  MUSTER_ASSIGN_OR_RETURN(const Json all, ParseJson(text));
  if (!all.is_object()) return Wrong("the file");
  MachinePast past;
  const auto ports = all.find("ports");
  if (ports == all.end() || !ports->is_object()) return Wrong("ports");
  for (const auto& [name, link] : ports->items()) {
    MUSTER_ASSIGN_OR_RETURN(past.ports[name], ParseLink(link));
  }
  const auto disks = all.find("failedDisks");
  if (disks == all.end() || !disks->is_object()) return Wrong("failedDisks");
  for (const auto& disk : disks->items()) {
    MUSTER_ASSIGN_OR_RETURN(const std::optional<absl::Time> since, TimeAt(*disks, disk.key()));
    past.failed_disks[disk.key()] = *since;
  }
  return past;
}

}  // namespace muster::agent
