#include "agent/hardware/visible_gpus.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace muster::agent {
namespace {

// Returns whether an entry of a list names a device; nullopt if it is a word that names none.
std::optional<bool> NamesByUuid(const std::string& entry, const GpuDevice& device) {
  // Drivers older than 470 named MIG devices by their GPU and numbers: "MIG-GPU-5f.../1/0".
  const bool is_uuid = absl::StartsWith(entry, "GPU-") ||
                       (absl::StartsWith(entry, "MIG-") && !absl::StartsWith(entry, "MIG-GPU-"));
  if (!is_uuid) return std::nullopt;
  return absl::StartsWith(device.uuid, entry);
}

std::optional<bool> NamesByUuidOrIndex(const std::string& entry, const GpuDevice& device) {
  int index = -1;
  if (absl::SimpleAtoi(entry, &index)) return device.gpu == index;
  return NamesByUuid(entry, device);
}

GpuDevices Select(GpuDevices all, const std::string& list,
                  std::optional<bool> (*names_device)(const std::string&, const GpuDevice&)) {
  std::vector<std::string> entries = absl::StrSplit(list, ',', absl::SkipWhitespace());
  for (std::string& entry : entries) absl::StripAsciiWhitespace(&entry);
  std::vector<size_t> kept;
  for (size_t i = 0; i < all.devices.size(); ++i) {
    bool named = entries.empty();
    for (const std::string& entry : entries) {
      const std::optional<bool> names = names_device(entry, all.devices[i]);
      if (!names.has_value()) return all;
      named |= *names;
    }
    if (named) kept.push_back(i);
  }
  GpuDevices left{.absence = std::move(all.absence),
                  .driver_version = std::move(all.driver_version)};
  for (size_t from : kept) {
    left.devices.push_back(std::move(all.devices[from]));
    std::vector<int>& row = left.distances.emplace_back();
    for (size_t to : kept) row.push_back(all.distances[from][to]);
  }
  return left;
}

}  // namespace

GpuDevices SelectGiven(GpuDevices devices, const std::string& list) {
  return Select(std::move(devices), list, NamesByUuid);
}

GpuDevices SelectChosen(GpuDevices devices, const std::string& list) {
  return Select(std::move(devices), list, NamesByUuidOrIndex);
}

}  // namespace muster::agent
