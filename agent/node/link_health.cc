#include "agent/node/link_health.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

constexpr char kActive[] = "ACTIVE";

// Returns true if the link has stayed up for long enough since it last went down.
bool PassesCheck(const LinkPast& past, absl::Time now) {
  if (!past.up_since.has_value()) return false;
  return now - std::max(*past.up_since, past.downs.back()) >= kUpIsPassed;
}

// Notes how often the link went down, by its counter. A counter that was reset begins anew.
void CountDowns(const InfinibandReading& port, absl::Time now, LinkPast& past) {
  const std::optional<uint64_t>& count = port.counters.link_downs;
  if (!count.has_value()) return;
  const uint64_t before = past.link_downs.value_or(*count);
  const uint64_t more = *count > before ? *count - before : 0;
  for (uint64_t i = 0; i < std::min<uint64_t>(more, kFlaps); ++i) past.downs.push_back(now);
  if (past.downs.size() > kFlaps) past.downs.erase(past.downs.begin(), past.downs.end() - kFlaps);
  past.link_downs = *count;
}

void CountSymbolErrors(const InfinibandReading& port, absl::Time now, LinkPast& past) {
  const std::optional<uint64_t>& count = port.counters.symbol_errors;
  if (!count.has_value()) return;
  if (past.hour.has_value() && *count >= past.symbol_errors) {
    if (*count - past.symbol_errors > kSymbolErrorsAnHour) {
      past.many_errors = now;
    } else if (now - *past.hour < absl::Hours(1)) {
      return;
    }
  }
  past.hour = now;
  past.symbol_errors = *count;
}

bool Flaps(const LinkPast& past, absl::Time now) {
  return past.downs.size() == kFlaps && past.downs.back() - past.downs.front() <= kFlapsWithin &&
         !PassesCheck(past, now);
}

}  // namespace

void Observe(const InfinibandReading& port, absl::Time now, LinkPast& past) {
  if (port.state == kActive) {
    past.was_active = true;
    past.down_since.reset();
    if (!past.up_since.has_value()) past.up_since = now;
  } else {
    past.up_since.reset();
    if (past.was_active && !past.down_since.has_value()) past.down_since = now;
  }
  CountDowns(port, now, past);
  CountSymbolErrors(port, now, past);
}

std::vector<HealthFault> FaultsOf(const InfinibandReading& port, const LinkPast& past,
                                  absl::Time now) {
  std::vector<HealthFault> faults;
  if (past.down_since.has_value() && now - *past.down_since >= kDownIsFault) {
    faults.push_back(
        {"PortDown", absl::StrCat("the port was ", kActive, " and is ",
                                  port.state.empty() ? "without a state" : port.state)});
  }
  if (Flaps(past, now)) {
    faults.push_back({"LinkFlaps", absl::StrCat("the link went down ", kFlaps, " times within ",
                                                absl::FormatDuration(kFlapsWithin),
                                                ", and has not stayed up for ",
                                                absl::FormatDuration(kUpIsPassed), " since")});
  }
  if (past.many_errors.has_value() && now - *past.many_errors <= kRemembered) {
    faults.push_back({"SymbolErrors", absl::StrCat("more than ", kSymbolErrorsAnHour,
                                                   " symbol errors within an hour")});
  }
  return faults;
}

}  // namespace muster::agent
