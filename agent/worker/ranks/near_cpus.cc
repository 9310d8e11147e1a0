#include "agent/worker/ranks/near_cpus.h"

#include <sched.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace muster::agent {

std::vector<int> ParseCpuList(const std::string& text) {
  std::vector<int> cpus;
  for (absl::string_view range : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(range, '-');
    int first = 0;
    int last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
        !absl::SimpleAtoi(ends.back(), &last)) {
      return {};
    }
    if (first < 0 || last >= CPU_SETSIZE) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

std::vector<int> NearCpus(std::optional<int> numa_node, const std::vector<NumaReading>& nodes,
                          const std::vector<int>& allowed) {
  std::vector<int> near;
  for (const NumaReading& node : nodes) {
    if (!numa_node.has_value() || node.index != *numa_node) continue;
    const std::vector<int> cpus = ParseCpuList(node.cpus);
    std::set_intersection(cpus.begin(), cpus.end(), allowed.begin(), allowed.end(),
                          std::back_inserter(near));
  }
  return near.size() == allowed.size() ? std::vector<int>() : near;
}

std::vector<int> AllowedCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace muster::agent
