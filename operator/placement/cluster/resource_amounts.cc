#include "operator/placement/cluster/resource_amounts.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

#include "operator/placement/cluster/label_selector.h"

namespace muster::control {
namespace {

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? INT64_MAX : INT64_MIN;
}

int64_t SaturatingSubtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a > 0 ? INT64_MAX : INT64_MIN;
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

template <typename Combine>
void CombineInto(ResourceAmounts& into, const ResourceAmounts& other, Combine combine) {
  into.cpu_millis = combine(into.cpu_millis, other.cpu_millis);
  into.memory_bytes = combine(into.memory_bytes, other.memory_bytes);
  into.ephemeral_bytes = combine(into.ephemeral_bytes, other.ephemeral_bytes);
  for (const auto& [name, amount] : other.scalars) {
    into.SetScalar(name, combine(into.scalar(name), amount));
  }
}

}  // namespace

int64_t ResourceAmounts::scalar(std::string_view name) const {
  for (const auto& [known, amount] : scalars) {
    if (known == name) return amount;
  }
  return 0;
}

void ResourceAmounts::SetScalar(std::string_view name, int64_t amount) {
  const auto at =
      std::lower_bound(scalars.begin(), scalars.end(), name,
                       [](const auto& entry, std::string_view n) { return entry.first < n; });
  if (at != scalars.end() && at->first == name) {
    at->second = amount;
  } else {
    scalars.emplace(at, std::string(name), amount);
  }
}

void ResourceAmounts::Add(const ResourceAmounts& other) {
  CombineInto(*this, other, SaturatingAdd);
}

void ResourceAmounts::Subtract(const ResourceAmounts& other) {
  CombineInto(*this, other, SaturatingSubtract);
}

bool IsScalarResource(std::string_view name) {
  const bool native = name.find("kubernetes.io/") != name.npos;
  if (StartsWith(name, "hugepages-") || StartsWith(name, "attachable-volumes-") || native) {
    return true;
  }
  if (name.find('/') == name.npos || StartsWith(name, "requests.")) return false;
  return IsLabelKey("requests." + std::string(name));
}

bool IsGpuResource(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash == name.npos) return false;
  const std::string_view vendor = name.substr(0, slash);
  const std::string_view device = name.substr(slash + 1);
  if (vendor == "nvidia.com") {
    return device == "gpu" || device == "gpu.shared" || StartsWith(device, "mig-");
  }
  if (vendor == "gpu.intel.com") return device == "i915" || device == "xe";
  return (vendor == "amd.com" || vendor == "intel.com") && device == "gpu";
}

bool IsRdmaResource(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* word : {"rdma", "hca", "infiniband", "roce"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return false;
}

}  // namespace muster::control
