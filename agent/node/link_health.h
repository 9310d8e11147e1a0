#ifndef MUSTER_AGENT_NODE_LINK_HEALTH_H_
#define MUSTER_AGENT_NODE_LINK_HEALTH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/hardware/reading.h"
#include "agent/node/health_fault.h"

// Judges the link of one InfiniBand or RoCE port by what it did since the machine started. Pure.
// Times are of one clock that starts with the machine, in whole seconds.
namespace muster::agent {

// The time for which a port must be down to count as that: a cable that is plugged anew or a subnet
// manager that starts anew is no fault.
inline constexpr absl::Duration kDownIsFault = absl::Seconds(30);
// A link that went down so often within so short a time flaps. Each time stops a job's collectives
// until they run into their deadline.
inline constexpr int kFlaps = 2;
inline constexpr absl::Duration kFlapsWithin = absl::Minutes(5);
// The most symbol errors in an hour of a link within the bit error rate of 1e-12 that InfiniBand
// allows (IBTA specification, volume 2).
inline constexpr uint64_t kSymbolErrorsAnHour = 120;
// The check that a link which flapped must pass: it stays up for this long.
inline constexpr absl::Duration kUpIsPassed = absl::Minutes(10);
// The time for which symbol errors count after an hour that had too many.
inline constexpr absl::Duration kRemembered = absl::Hours(1);

// The behaviour of a port since the machine started.
struct LinkPast {
  bool was_active = false;
  std::optional<absl::Time> down_since;
  std::optional<absl::Time> up_since;  // absent while it is down, or not known
  std::optional<uint64_t> link_downs;  // the newest count
  std::vector<absl::Time> downs;       // the newest kFlaps times at which it rose
  // The hour in which symbol errors are counted now: its beginning, and their count then.
  std::optional<absl::Time> hour;
  uint64_t symbol_errors = 0;
  std::optional<absl::Time> many_errors;  // the last time at which an hour had too many

  friend bool operator==(const LinkPast&, const LinkPast&) = default;
};

void Observe(const InfinibandReading& port, absl::Time now, LinkPast& past);

// Returns the faults of a port after Observe(); none if it is well. A port that has never been
// active is not in use.
std::vector<HealthFault> FaultsOf(const InfinibandReading& port, const LinkPast& past,
                                  absl::Time now);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NODE_LINK_HEALTH_H_
