#include "agent/hardware/nvml_gpus.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "agent/hardware/nvml_queries.h"

namespace muster::agent {
namespace {

using nvml::Device;
using nvml::kSuccess;

// Events of one reading; the rest waits for the next.
constexpr int kMostXids = 256;
constexpr double kMilli = 1e-3;

// Calls `function`, which may be null, with `arguments` and a place for its answer.
template <typename Answer, typename Function, typename... Arguments>
std::optional<Answer> Ask(Function* function, Arguments... arguments) {
  Answer answer{};
  if (function == nullptr || function(arguments..., &answer) != kSuccess) return std::nullopt;
  return answer;
}

template <typename Number>
std::optional<double> Thousandths(std::optional<Number> number) {
  if (!number.has_value()) return std::nullopt;
  return static_cast<double>(*number) * kMilli;
}

std::string DashedUuid(const uint8_t (&bytes)[16]) {
  const std::string hex =
      absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes), 16));
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-",
                      hex.substr(16, 4), "-", hex.substr(20));
}

std::optional<uint64_t> BytesOf(const nvml::FieldValue& value) {
  constexpr uint64_t kKibibyte = 1024;
  if (value.result != kSuccess) return std::nullopt;
  if (value.value_type == nvml::kValueUint) return value.value.u32 * kKibibyte;
  if (value.value_type != nvml::kValueUlong && value.value_type != nvml::kValueUlongLong) {
    return std::nullopt;
  }
  return value.value.u64 * kKibibyte;
}

}  // namespace

NvmlGpus::~NvmlGpus() {
  if (events_ != nullptr && nvml_->event_set_free != nullptr) nvml_->event_set_free(events_);
}

absl::Status NvmlGpus::Load() {
  absl::StatusOr<std::unique_ptr<NvmlLibrary>> nvml = NvmlLibrary::Load(path_);
  if (!nvml.ok()) return nvml.status();
  nvml_ = *std::move(nvml);
  if (nvml_->event_set_create != nullptr && nvml_->event_wait != nullptr &&
      nvml_->event_set_create(&events_) != kSuccess) {
    events_ = nullptr;
  }
  return absl::OkStatus();
}

void NvmlGpus::Listen(Known& known) {
  if (known.listens || events_ == nullptr || nvml_->register_events == nullptr) return;
  known.listens = nvml_->register_events(known.device, nvml::kEventXid, events_) == kSuccess;
}

void NvmlGpus::Identify(Device device, Known& known) const {
  const auto uuid = UuidOf(*nvml_, device);
  if (!uuid) return;
  known.device = device;
  known.uuid = *uuid;
  if (auto product = ProductOf(*nvml_, device)) known.product = *std::move(product);
  if (auto address = PciAddressOf(*nvml_, device)) known.pci_address = *std::move(address);
  if (const auto memory = Ask<nvml::Memory>(nvml_->memory_info, device)) {
    known.memory_bytes = memory->total;
  }
}

void NvmlGpus::ReadValues(Device device, GpuReading& gpu) const {
  if (const auto memory = Ask<nvml::Memory>(nvml_->memory_info, device)) {
    gpu.memory_used_bytes = memory->used;
  }
  if (const auto busy = Ask<nvml::Utilization>(nvml_->utilization, device)) {
    gpu.utilization = std::min(busy->gpu, 100u) / 100.0;
  }
  gpu.power_watts = Thousandths(Ask<uint32_t>(nvml_->power, device));
  gpu.power_limit_watts = Thousandths(Ask<uint32_t>(nvml_->power_limit, device));
  gpu.energy_joules = Thousandths(Ask<unsigned long long>(nvml_->energy, device));
  if (const auto celsius = Ask<uint32_t>(nvml_->temperature, device, nvml::kTemperatureGpu)) {
    gpu.temperature_celsius = *celsius;
  }
}

void NvmlGpus::ReadErrors(Device device, GpuReading& gpu) const {
  const auto errors = [&](int32_t kind) -> std::optional<uint64_t> {
    return Ask<unsigned long long>(nvml_->ecc_errors, device, kind, nvml::kSinceDriverLoad);
  };
  gpu.ecc_corrected = errors(nvml::kErrorCorrected);
  gpu.ecc_uncorrected = errors(nvml::kErrorUncorrected);
  uint32_t corrected = 0;
  uint32_t uncorrected = 0;
  uint32_t pending = 0;
  uint32_t failed = 0;
  if (nvml_->remapped_rows == nullptr ||
      nvml_->remapped_rows(device, &corrected, &uncorrected, &pending, &failed) != kSuccess) {
    return;
  }
  gpu.rows_remapped = uint64_t{corrected} + uncorrected;
  gpu.row_remap_pending = pending != 0;
  gpu.row_remap_failed = failed != 0;
}

void NvmlGpus::ReadNvlinks(Device device, GpuReading& gpu) const {
  for (uint32_t link = 0; link < nvml::kMaxNvlinks && nvml_->nvlink_state != nullptr; ++link) {
    const auto state = Ask<int32_t>(nvml_->nvlink_state, device, link);
    if (!state) break;  // the GPU has no such link, so no later one either
    const auto errors = [&](int32_t counter) -> std::optional<uint64_t> {
      return Ask<unsigned long long>(nvml_->nvlink_errors, device, link, counter);
    };
    gpu.nvlinks.push_back({static_cast<int>(link), *state == nvml::kFeatureEnabled,
                           errors(nvml::kNvlinkCrcFlit), errors(nvml::kNvlinkReplay),
                           errors(nvml::kNvlinkRecovery)});
  }
  if (gpu.nvlinks.empty() || nvml_->field_values == nullptr) return;
  nvml::FieldValue values[2] = {};
  values[0].field = nvml::kFieldNvlinkDataSent;
  values[1].field = nvml::kFieldNvlinkDataReceived;
  values[0].scope = values[1].scope = nvml::kAllLinks;
  if (nvml_->field_values(device, 2, values) != kSuccess) return;
  gpu.nvlink_sent_bytes = BytesOf(values[0]);
  gpu.nvlink_received_bytes = BytesOf(values[1]);
}

void NvmlGpus::ReadFabric(Device device, GpuReading& gpu) const {
  const auto fabric = Ask<nvml::GpuFabricInfo>(nvml_->fabric_info, device);
  if (!fabric || (fabric->state & 0xFF) != nvml::kFabricCompleted || fabric->status != kSuccess) {
    return;
  }
  const bool none = std::all_of(std::begin(fabric->cluster_uuid), std::end(fabric->cluster_uuid),
                                [](uint8_t byte) { return byte == 0; });
  if (none) return;
  gpu.nvlink_cluster = DashedUuid(fabric->cluster_uuid);
  gpu.nvlink_clique = fabric->clique;
}

GpuReading NvmlGpus::ReadGpu(uint32_t index) {
  Known& known = known_[index];
  Device device = nullptr;
  const nvml::Return found = nvml_->device_by_index(index, &device);
  if (found == kSuccess) {
    Identify(device, known);
    Listen(known);
  }
  GpuReading gpu;
  gpu.index = static_cast<int>(index);
  gpu.uuid = known.uuid;
  gpu.product = known.product;
  gpu.pci_address = known.pci_address;
  gpu.memory_bytes = known.memory_bytes;
  uint32_t unused = 0;
  // A lost GPU still has a handle where it was opened before.
  gpu.lost = found == nvml::kGpuIsLost ||
             (found == kSuccess && nvml_->temperature != nullptr &&
              nvml_->temperature(device, nvml::kTemperatureGpu, &unused) == nvml::kGpuIsLost);
  if (found != kSuccess || gpu.lost) return gpu;
  ReadValues(device, gpu);
  ReadErrors(device, gpu);
  ReadNvlinks(device, gpu);
  ReadFabric(device, gpu);
  return gpu;
}

std::vector<XidEvent> NvmlGpus::TakeXids() {
  std::vector<XidEvent> xids;
  for (int i = 0; i < kMostXids && events_ != nullptr; ++i) {
    nvml::EventData event{};
    if (nvml_->event_wait(events_, &event, /*milliseconds=*/0) != kSuccess) break;
    if ((event.type & nvml::kEventXid) == 0) continue;
    for (const auto& [index, known] : known_) {
      if (known.device == event.device) xids.push_back({known.uuid, event.data});
    }
  }
  return xids;
}

GpuReadings NvmlGpus::Read(absl::Time now) {
  GpuReadings readings;
  if (nvml_ == nullptr && now >= next_try_) {
    next_try_ = now + kRetry;
    absence_ = std::string(Load().message());
  }
  readings.absence = absence_;
  if (nvml_ == nullptr) return readings;
  if (auto version = DriverVersionOf(*nvml_)) readings.driver_version = *std::move(version);
  const absl::StatusOr<uint32_t> counted = CountGpus(*nvml_);
  if (!counted.ok()) {
    readings.absence = std::string(counted.status().message());
    return readings;
  }
  const uint32_t count = *counted;
  // A GPU that vanished from the count was lost, too.
  const uint32_t last = known_.empty() ? 0 : known_.rbegin()->first + 1;
  for (uint32_t i = 0; i < count; ++i) readings.gpus.push_back(ReadGpu(i));
  for (uint32_t i = count; i < last; ++i) {
    const Known& known = known_[i];
    readings.gpus.push_back({.index = static_cast<int>(i),
                             .uuid = known.uuid,
                             .product = known.product,
                             .pci_address = known.pci_address,
                             .lost = true,
                             .memory_bytes = known.memory_bytes});
  }
  readings.xids = TakeXids();
  return readings;
}

}  // namespace muster::agent
