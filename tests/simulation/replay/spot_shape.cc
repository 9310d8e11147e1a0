#include "tests/simulation/replay/spot_shape.h"

#include <algorithm>
#include <map>
#include <random>

namespace muster::control {

std::vector<SpotEvent> Generate(const SpotShape& shape, absl::Duration length, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto exponential = [&random](absl::Duration mean) {
    return mean * std::exponential_distribution<double>(1)(random);
  };
  std::uniform_int_distribution<int> size(1, shape.most_at_once);
  const double mean_size = (1 + shape.most_at_once) / 2.0;
  std::vector<SpotEvent> events;
  std::vector<absl::Duration> there_from(shape.slots, absl::ZeroDuration());
  // Bursts come at the rate at which all slots would lose the machines per hour; those that would
  // strike a slot without a machine strike nothing, so the rate is that of the machines held.
  const absl::Duration between =
      absl::Hours(1) * (mean_size / (shape.taken_per_hour * shape.slots));
  for (absl::Duration at = exponential(between); at < length; at += exponential(between)) {
    std::vector<int> slots(shape.slots);
    for (int i = 0; i < shape.slots; ++i) slots[i] = i;
    std::shuffle(slots.begin(), slots.end(), random);
    slots.resize(std::min(size(random), shape.slots));
    for (int slot : slots) {
      const absl::Duration back = at + exponential(shape.back_after);
      if (at < there_from[slot]) continue;
      events.push_back({at, slot, true});
      events.push_back({back, slot, false});
      there_from[slot] = back;
    }
  }
  std::erase_if(events, [&](const SpotEvent& event) { return event.at >= length; });
  std::stable_sort(events.begin(), events.end(),
                   [](const SpotEvent& a, const SpotEvent& b) { return a.at < b.at; });
  return events;
}

absl::Duration Held(const SpotShape& shape, const std::vector<SpotEvent>& events,
                    absl::Duration length) {
  absl::Duration held;
  absl::Duration last;
  int machines = shape.slots;
  for (const SpotEvent& event : events) {
    held += (event.at - last) * machines;
    last = event.at;
    machines += event.taken ? -1 : 1;
  }
  return held + (length - last) * machines;
}

}  // namespace muster::control
