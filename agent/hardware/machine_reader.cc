#include "agent/hardware/machine_reader.h"

#include <sys/timex.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace muster::agent {
namespace {

constexpr int64_t kSectorBytes = 512;     // the unit of /sys/block/*/size, whatever the disk's own
constexpr uint64_t kWordBytes = 4;        // the unit of port_xmit_data and port_rcv_data
constexpr int64_t kMostNumaNodes = 1024;  // the kernel's own limit

std::optional<int> NumaNode(const SysfsTree& sys, const std::string& device) {
  const std::optional<int64_t> node = sys.Number(absl::StrCat(device, "/numa_node"));
  // The kernel says -1 where the machine has no such nodes.
  if (!node || *node < 0 || *node >= kMostNumaNodes) return std::nullopt;
  return static_cast<int>(*node);
}

std::string PciAddress(const SysfsTree& sys, const std::string& device) {
  std::string name = sys.LinkName(device).value_or("");
  return IsPciAddress(name) ? name : "";
}

// Returns the number in "node12" for the prefix "node".
std::optional<int> IndexIn(absl::string_view name, absl::string_view prefix) {
  int index = 0;
  if (!absl::ConsumePrefix(&name, prefix) || name.empty() || !absl::ascii_isdigit(name[0]) ||
      !absl::SimpleAtoi(name, &index)) {
    return std::nullopt;
  }
  return index;
}

// Reads "Node 0 MemTotal:       65536 kB" of a node's meminfo.
int64_t MemoryOf(const std::string& meminfo) {
  for (const absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    int64_t kibibytes = 0;
    if (words.size() != 5 || words[2] != "MemTotal:" || words[4] != "kB") continue;
    if (!absl::SimpleAtoi(words[3], &kibibytes) || kibibytes < 0) continue;
    if (kibibytes > std::numeric_limits<int64_t>::max() / 1024) continue;
    return kibibytes * 1024;
  }
  return 0;
}

// Reads "4: ACTIVE".
std::string StateOf(const std::string& text) {
  const size_t colon = text.find(':');
  const absl::string_view state =
      colon == std::string::npos ? text : absl::string_view(text).substr(colon + 1);
  return std::string(absl::StripAsciiWhitespace(state).substr(0, 32));
}

// Reads "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)".
double GigabitsOf(const std::string& text) {
  double rate = 0;
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  if (words.size() < 2 || words[1] != "Gb/sec" || !absl::SimpleAtod(words[0], &rate)) return 0;
  return std::isfinite(rate) && rate > 0 && rate < 1e6 ? rate : 0;
}

// Reads "0c42:a103:0065:bafe".
std::string GuidOf(const std::string& text) {
  std::string digits;
  for (const char c : text) {
    if (c == ':') continue;
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return "";
    digits += absl::ascii_tolower(static_cast<unsigned char>(c));
  }
  return digits.size() == 16 ? digits : "";
}

std::optional<uint64_t> Bytes(std::optional<uint64_t> words) {
  if (!words || *words > std::numeric_limits<uint64_t>::max() / kWordBytes) return std::nullopt;
  return *words * kWordBytes;
}

InfinibandCounters CountersOf(const SysfsTree& sys, const std::string& port) {
  const auto counter = [&](const char* name) {
    return sys.Counter(absl::StrCat(port, "/counters/", name));
  };
  return {.sent_bytes = Bytes(counter("port_xmit_data")),
          .received_bytes = Bytes(counter("port_rcv_data")),
          .symbol_errors = counter("symbol_error"),
          .link_recoveries = counter("link_error_recovery"),
          .link_downs = counter("link_downed"),
          .receive_errors = counter("port_rcv_errors"),
          .send_discards = counter("port_xmit_discards"),
          .send_wait_ticks = counter("port_xmit_wait")};
}

}  // namespace

std::vector<NumaReading> ReadNumaNodes(const SysfsTree& sys) {
  const std::string folder = "devices/system/node";
  std::vector<NumaReading> nodes;
  for (const std::string& name : sys.List(folder)) {
    const std::optional<int> index = IndexIn(name, "node");
    if (!index) continue;
    const std::string node = absl::StrCat(folder, "/", name);
    nodes.push_back({*index, sys.Text(node + "/cpulist").value_or(""),
                     MemoryOf(sys.Text(node + "/meminfo").value_or(""))});
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const NumaReading& a, const NumaReading& b) { return a.index < b.index; });
  return nodes;
}

std::vector<NetworkCardReading> ReadNetworkCards(const SysfsTree& sys) {
  std::vector<NetworkCardReading> cards;
  for (const std::string& name : sys.List("class/net")) {
    const std::string path = absl::StrCat("class/net/", name);
    const std::string device = path + "/device";
    if (!sys.LinkName(device)) continue;
    NetworkCardReading card{name, PciAddress(sys, device), NumaNode(sys, device)};
    card.up = sys.Text(path + "/operstate") == "up";
    const std::optional<int64_t> speed = sys.Number(path + "/speed");
    if (card.up && speed && *speed > 0) card.megabits_per_second = *speed;
    cards.push_back(std::move(card));
  }
  return cards;
}

std::vector<InfinibandReading> ReadInfinibandPorts(const SysfsTree& sys) {
  std::vector<InfinibandReading> found;
  for (const std::string& device : sys.List("class/infiniband")) {
    const std::string path = absl::StrCat("class/infiniband/", device);
    for (const std::string& name : sys.List(path + "/ports")) {
      const std::optional<int> number = IndexIn(name, "");
      if (!number) continue;
      const std::string port = absl::StrCat(path, "/ports/", name);
      InfinibandReading reading;
      reading.device = device;
      reading.port = *number;
      reading.pci_address = PciAddress(sys, path + "/device");
      reading.numa_node = NumaNode(sys, path + "/device");
      reading.node_guid = GuidOf(sys.Text(path + "/node_guid").value_or(""));
      reading.state = StateOf(sys.Text(port + "/state").value_or(""));
      reading.link_layer = sys.Text(port + "/link_layer").value_or("InfiniBand").substr(0, 32);
      reading.gigabits_per_second = GigabitsOf(sys.Text(port + "/rate").value_or(""));
      reading.counters = CountersOf(sys, port);
      found.push_back(std::move(reading));
    }
  }
  return found;
}

std::vector<DiskReading> ReadDisks(const SysfsTree& sys) {
  std::vector<DiskReading> disks;
  for (const std::string& name : sys.List("block")) {
    const std::string path = absl::StrCat("block/", name);
    if (!sys.LinkName(path + "/device")) continue;
    const int64_t sectors = sys.Number(path + "/size").value_or(0);
    if (sectors <= 0 || sectors > std::numeric_limits<int64_t>::max() / kSectorBytes) continue;
    disks.push_back({name, sys.Text(path + "/device/model").value_or("").substr(0, 128),
                     sectors * kSectorBytes,
                     sys.Number(path + "/queue/rotational").value_or(0) == 1,
                     sys.Text(path + "/device/state").value_or("").substr(0, 32)});
  }
  return disks;
}

std::optional<int> NumaNodeOfPci(const SysfsTree& sys, const std::string& pci_address) {
  if (!IsPciAddress(pci_address)) return std::nullopt;
  return NumaNode(sys, absl::StrCat("bus/pci/devices/", pci_address));
}

std::optional<ClockReading> ReadKernelClock() {
  timex clock = {};
  const int state = ::adjtimex(&clock);
  if (state == -1) return std::nullopt;
  return ClockReading{.synchronized = state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0,
                      .max_error_seconds = static_cast<double>(clock.maxerror) * 1e-6};
}

}  // namespace muster::agent
