// A fake of libnvidia-ml.so.1: a real shared library whose GPUs are described by the text file that
// $FAKE_NVML names. The file is read again at each nvmlDeviceGetCount_v2, so a test changes
// the state of a running process by replacing it. A line each:
//
//   init 9                             nvmlInit_v2 returns this
//   driver 550.90.07
//   gpu uuid=GPU-a name=NVIDIA_H100 pci=00000000:1B:00.0 util=97 ...    (the names of Gpu::Number)
//   gpu ... fail=nvmlDeviceGetPowerUsage:3     this call of this GPU returns 3; may be repeated
//   gpu ... peers=1,2 board=0          those over NVLink, by index; GPUs of one board are near
//   gpu ... mig=MIG-a,MIG-b            it is divided into these; with mig= into none yet
//   xid gpu=1 code=79                  an event, once: lines are counted from the top
//
// Like NVML, it refuses buffers that are too small, indices that do not exist and unknown handles
// with NVML's codes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "agent/hardware/nvml_types.h"

namespace {

using namespace muster::agent::nvml;  // NOLINT: the fake is this interface

constexpr Return kUninitialized = 1;
constexpr Return kInvalidArgument = 2;
constexpr Return kNotFound = 6;
constexpr Return kInsufficientSize = 7;

struct Gpu {
  std::map<std::string, std::string> values;
  std::map<std::string, Return> failures;

  bool Has(const std::string& key) const { return values.count(key) > 0; }
  std::string Text(const std::string& key) const {
    const auto found = values.find(key);
    std::string text = found == values.end() ? "" : found->second;
    for (char& c : text) c = c == '_' ? ' ' : c;
    return text;
  }
  uint64_t Number(const std::string& key) const {
    return std::strtoull(Text(key).c_str(), nullptr, 10);
  }
};

// Returns an entry of a list with commas; empty if it has no such entry.
std::string Entry(const std::string& list, size_t index) {
  std::istringstream entries(list);
  std::string entry;
  for (size_t i = 0; std::getline(entries, entry, ','); ++i) {
    if (i == index) return entry;
  }
  return "";
}

struct State {
  Return init = kSuccess;
  std::string driver;
  std::vector<Gpu> gpus;
  std::vector<std::pair<uint32_t, uint64_t>> xids;  // GPU and XID
};

State state;             // of the last look into the file
int initialised = 0;     // nvmlInit_v2 less nvmlShutdown
size_t xids_given = 0;   // of the file's
uint64_t listening = 0;  // a bit for each GPU with registered events
struct Handle {};
Handle handles[64];  // by index
// The MIG devices, seven of each GPU.
constexpr size_t kMigs = 7;
Handle mig_handles[64 * kMigs];
Handle the_event_set;

void Look() {
  State now;
  const char* path = std::getenv("FAKE_NVML");
  std::ifstream file(path == nullptr ? "" : path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "init") words >> now.init;
    if (kind == "driver") words >> now.driver;
    if (kind != "gpu" && kind != "xid") continue;
    Gpu gpu;
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      const std::string key = word.substr(0, equals);
      const std::string value = equals == std::string::npos ? "1" : word.substr(equals + 1);
      if (key == "fail") {
        const size_t colon = value.find(':');
        gpu.failures[value.substr(0, colon)] = std::atoi(value.substr(colon + 1).c_str());
      } else {
        gpu.values[key] = value;
      }
    }
    if (kind == "gpu") now.gpus.push_back(gpu);
    if (kind == "xid") {
      now.xids.push_back({static_cast<uint32_t>(gpu.Number("gpu")), gpu.Number("code")});
    }
  }
  state = now;
}

const Gpu* Find(Device device) {
  const auto* handle = reinterpret_cast<const Handle*>(device);
  if (handle < handles || handle >= handles + state.gpus.size()) return nullptr;
  return &state.gpus[static_cast<size_t>(handle - handles)];
}

// Returns the UUID of a MIG device; empty if the handle is that of none.
std::string MigUuid(Device device) {
  const auto* handle = reinterpret_cast<const Handle*>(device);
  if (handle < mig_handles || handle >= mig_handles + state.gpus.size() * kMigs) return "";
  const size_t place = static_cast<size_t>(handle - mig_handles);
  return Entry(state.gpus[place / kMigs].Text("mig"), place % kMigs);
}

Return Check(const Gpu* gpu, const char* call) {
  if (initialised == 0) return kUninitialized;
  if (gpu == nullptr) return kInvalidArgument;
  const auto failure = gpu->failures.find(call);
  if (failure != gpu->failures.end()) return failure->second;
  const auto every = gpu->failures.find("all");
  return every == gpu->failures.end() ? kSuccess : every->second;
}

// Answers `call` with the number `key`, in units of `unit`; not supported if the file has none.
template <typename Number>
Return Answer(Device device, const char* call, const char* key, Number* into) {
  const Gpu* gpu = Find(device);
  if (const Return checked = Check(gpu, call); checked != kSuccess) return checked;
  if (into == nullptr) return kInvalidArgument;
  if (!gpu->Has(key)) return kNotSupported;
  *into = static_cast<Number>(gpu->Number(key));
  return kSuccess;
}

Return Copy(const std::string& text, char* into, uint32_t size) {
  if (size <= text.size()) return kInsufficientSize;
  std::memcpy(into, text.c_str(), text.size() + 1);
  return kSuccess;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() {
  Look();
  if (state.init == kSuccess) ++initialised;
  return state.init;
}
Return nvmlShutdown() {
  if (initialised == 0) return kUninitialized;
  --initialised;
  return kSuccess;
}
const char* nvmlErrorString(Return result) {
  switch (result) {
    case kNotSupported:
      return "Not Supported";
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}
Return nvmlSystemGetDriverVersion(char* into, uint32_t size) {
  return initialised == 0 ? kUninitialized : Copy(state.driver, into, size);
}
Return nvmlDeviceGetCount_v2(uint32_t* count) {
  if (initialised == 0) return kUninitialized;
  Look();
  *count = static_cast<uint32_t>(state.gpus.size());
  return kSuccess;
}
Return nvmlDeviceGetHandleByIndex_v2(uint32_t index, Device* device) {
  if (initialised == 0) return kUninitialized;
  if (index >= state.gpus.size()) return kInvalidArgument;
  const Return checked = Check(&state.gpus[index], "nvmlDeviceGetHandleByIndex_v2");
  if (checked == kSuccess) *device = reinterpret_cast<Device>(&handles[index]);
  return checked;
}
Return nvmlDeviceGetUUID(Device device, char* into, uint32_t size) {
  if (const std::string mig = MigUuid(device); !mig.empty()) return Copy(mig, into, size);
  const Return checked = Check(Find(device), "nvmlDeviceGetUUID");
  return checked == kSuccess ? Copy(Find(device)->Text("uuid"), into, size) : checked;
}
Return nvmlDeviceGetName(Device device, char* into, uint32_t size) {
  const Return checked = Check(Find(device), "nvmlDeviceGetName");
  return checked == kSuccess ? Copy(Find(device)->Text("name"), into, size) : checked;
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* info) {
  const Return checked = Check(Find(device), "nvmlDeviceGetPciInfo_v3");
  if (checked != kSuccess) return checked;
  *info = {};
  return Copy(Find(device)->Text("pci"), info->bus_id, sizeof(info->bus_id));
}
Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  const Return total = Answer(device, "nvmlDeviceGetMemoryInfo", "memory", &memory->total);
  if (total != kSuccess) return total;
  memory->used = Find(device)->Number("used");
  memory->free = memory->total - memory->used;
  return kSuccess;
}
Return nvmlDeviceGetUtilizationRates(Device device, Utilization* utilization) {
  utilization->memory = 0;
  return Answer(device, "nvmlDeviceGetUtilizationRates", "util", &utilization->gpu);
}
Return nvmlDeviceGetPowerUsage(Device device, uint32_t* milliwatts) {
  return Answer(device, "nvmlDeviceGetPowerUsage", "power", milliwatts);
}
Return nvmlDeviceGetEnforcedPowerLimit(Device device, uint32_t* milliwatts) {
  return Answer(device, "nvmlDeviceGetEnforcedPowerLimit", "limit", milliwatts);
}
Return nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* millijoules) {
  return Answer(device, "nvmlDeviceGetTotalEnergyConsumption", "energy", millijoules);
}
Return nvmlDeviceGetTemperature(Device device, int32_t sensor, uint32_t* celsius) {
  if (sensor != kTemperatureGpu) return kInvalidArgument;
  return Answer(device, "nvmlDeviceGetTemperature", "temp", celsius);
}
Return nvmlDeviceGetTotalEccErrors(Device device, int32_t kind, int32_t period,
                                   unsigned long long* count) {
  if (period != kSinceDriverLoad) return kNotSupported;
  return Answer(device, "nvmlDeviceGetTotalEccErrors",
                kind == kErrorUncorrected ? "ecc_uncorrected" : "ecc_corrected", count);
}
Return nvmlDeviceGetRemappedRows(Device device, uint32_t* corrected, uint32_t* uncorrected,
                                 uint32_t* pending, uint32_t* failed) {
  const Return rows = Answer(device, "nvmlDeviceGetRemappedRows", "rows", uncorrected);
  if (rows != kSuccess) return rows;
  *corrected = 0;
  *pending = static_cast<uint32_t>(Find(device)->Number("rows_pending"));
  *failed = static_cast<uint32_t>(Find(device)->Number("rows_failed"));
  return kSuccess;
}
Return nvmlDeviceGetNvLinkState(Device device, uint32_t link, int32_t* active) {
  uint32_t links = 0;
  const Return has = Answer(device, "nvmlDeviceGetNvLinkState", "links", &links);
  if (has != kSuccess) return has;
  if (link >= links) return kInvalidArgument;
  const Gpu& gpu = *Find(device);
  *active = gpu.Has("link_down") && gpu.Number("link_down") == link ? 0 : kFeatureEnabled;
  return kSuccess;
}
Return nvmlDeviceGetNvLinkErrorCounter(Device device, uint32_t link, int32_t counter,
                                       unsigned long long* count) {
  const char* const keys[] = {"link_replays", "link_recoveries", "link_crc"};
  if (counter < 0 || counter > 2) return kInvalidArgument;
  return Answer(device, "nvmlDeviceGetNvLinkErrorCounter", keys[counter], count);
}
Return nvmlDeviceGetFieldValues(Device device, int32_t count, FieldValue* values) {
  if (const Return checked = Check(Find(device), "nvmlDeviceGetFieldValues"); checked != kSuccess) {
    return checked;
  }
  for (int32_t i = 0; i < count; ++i) {
    const char* key = values[i].field == kFieldNvlinkDataSent ? "sent_kib" : "received_kib";
    uint64_t number = 0;
    values[i].result = Answer(device, "field", key, &number);
    values[i].value_type = kValueUlongLong;
    values[i].value.u64 = number;
  }
  return kSuccess;
}
Return nvmlDeviceGetGpuFabricInfo(Device device, GpuFabricInfo* info) {
  const Return clique = Answer(device, "nvmlDeviceGetGpuFabricInfo", "clique", &info->clique);
  if (clique != kSuccess) return clique;
  const std::string cluster = Find(device)->Text("cluster");
  for (size_t i = 0; i < 16; ++i) {
    info->cluster_uuid[i] =
        static_cast<uint8_t>(std::strtoul(cluster.substr(2 * i, 2).c_str(), nullptr, 16));
  }
  info->status = kSuccess;
  info->state = kFabricCompleted;
  return kSuccess;
}
Return nvmlDeviceGetP2PStatus(Device from, Device to, int32_t kind, int32_t* status) {
  const Gpu* gpu = Find(from);
  if (gpu == nullptr || Find(to) == nullptr) return kInvalidArgument;
  if (kind != kPeerOverNvlink || !gpu->Has("peers")) return kNotSupported;
  const auto index = std::to_string(Find(to) - state.gpus.data());
  *status = 1;
  for (size_t i = 0; !Entry(gpu->Text("peers"), i).empty(); ++i) {
    if (Entry(gpu->Text("peers"), i) == index) *status = kPeerOk;
  }
  return kSuccess;
}
Return nvmlDeviceGetTopologyCommonAncestor(Device from, Device to, int32_t* level) {
  const Gpu* gpu = Find(from);
  if (gpu == nullptr || Find(to) == nullptr) return kInvalidArgument;
  if (!gpu->Has("board")) return kNotSupported;
  *level = gpu->Text("board") == Find(to)->Text("board") ? 0 : kLevelSystem;
  return kSuccess;
}
Return nvmlDeviceGetMigMode(Device device, uint32_t* now, uint32_t* next) {
  const Return checked = Check(Find(device), "nvmlDeviceGetMigMode");
  if (checked != kSuccess) return checked;
  *now = *next = Find(device)->Has("mig") ? kMigEnabled : 0;
  return kSuccess;
}
Return nvmlDeviceGetMaxMigDeviceCount(Device device, uint32_t* count) {
  const Return checked = Check(Find(device), "nvmlDeviceGetMaxMigDeviceCount");
  *count = kMigs;
  return checked;
}
Return nvmlDeviceGetMigDeviceHandleByIndex(Device device, uint32_t index, Device* part) {
  const Gpu* gpu = Find(device);
  if (gpu == nullptr || index >= kMigs) return kInvalidArgument;
  if (Entry(gpu->Text("mig"), index).empty()) return kNotFound;
  const size_t place = static_cast<size_t>(gpu - state.gpus.data()) * kMigs + index;
  *part = reinterpret_cast<Device>(&mig_handles[place]);
  return kSuccess;
}
Return nvmlEventSetCreate(EventSet* set) {
  *set = reinterpret_cast<EventSet>(&the_event_set);
  return kSuccess;
}
Return nvmlEventSetFree(EventSet set) {
  return set == reinterpret_cast<EventSet>(&the_event_set) ? kSuccess : kInvalidArgument;
}
Return nvmlDeviceRegisterEvents(Device device, unsigned long long types, EventSet set) {
  const Return checked = Check(Find(device), "nvmlDeviceRegisterEvents");
  if (checked != kSuccess) return checked;
  if (types != kEventXid || set != reinterpret_cast<EventSet>(&the_event_set)) {
    return kInvalidArgument;
  }
  listening |= uint64_t{1} << (Find(device) - state.gpus.data());
  return kSuccess;
}
Return nvmlEventSetWait_v2(EventSet set, EventData* event, uint32_t milliseconds) {
  if (set != reinterpret_cast<EventSet>(&the_event_set)) return kInvalidArgument;
  while (xids_given < state.xids.size()) {
    const auto [gpu, code] = state.xids[xids_given++];
    if (gpu >= state.gpus.size() || ((listening >> gpu) & 1) == 0) continue;
    *event = {reinterpret_cast<Device>(&handles[gpu]), kEventXid, code, 0xFFFFFFFF, 0xFFFFFFFF};
    return kSuccess;
  }
  return kTimeout;
}

}  // extern "C"
