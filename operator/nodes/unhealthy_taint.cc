#include "operator/nodes/unhealthy_taint.h"

#include <algorithm>
#include <cstdint>

#include "base/json.h"

namespace muster::control {
namespace {

constexpr absl::Duration kFirstWait = absl::Minutes(10);
constexpr absl::Duration kLongestWait = absl::Hours(24);
constexpr absl::Duration kForgetAfter = absl::Hours(7 * 24);
constexpr int kMostFaults = 1000;

}  // namespace

std::string ToText(const HealthPast& past) {
  if (past == HealthPast{}) return "";
  Json json = {{"faults", past.faults}};
  if (past.good_since) json["goodSince"] = absl::ToUnixSeconds(*past.good_since);
  return DumpJson(json);
}

HealthPast ParseHealthPast(const std::string& text) {
  const auto json = ParseJson(text);
  HealthPast past;
  if (!json.ok() || !json->is_object()) return past;
  const auto faults = json->find("faults");
  if (faults == json->end() || !faults->is_number_integer()) return past;
  past.faults = static_cast<int>(std::clamp<int64_t>(faults->get<int64_t>(), 0, kMostFaults));
  const auto since = json->find("goodSince");
  if (since != json->end() && since->is_number_integer()) {
    past.good_since = absl::FromUnixSeconds(since->get<int64_t>());
  }
  return past;
}

absl::Duration WaitAfterFaults(int faults) {
  absl::Duration wait = kFirstWait;
  for (int i = 1; i < faults && wait < kLongestWait; ++i) wait *= 2;
  return std::min(wait, kLongestWait);
}

TaintChoice ChooseTaint(const std::string& status, bool tainted, const HealthPast& past,
                        absl::Time now) {
  TaintChoice choice{tainted, past};
  const absl::Time second = absl::FromUnixSeconds(absl::ToUnixSeconds(now));
  const absl::Duration good = past.good_since
                                  ? std::max(second - *past.good_since, absl::ZeroDuration())
                                  : absl::ZeroDuration();
  if (status == "False") {
    choice.tainted = true;
    choice.past.good_since.reset();
    const bool is_new = !tainted || past.good_since.has_value();
    if (is_new) choice.past.faults = good >= kForgetAfter ? 1 : past.faults + 1;
    choice.past.faults = std::min(choice.past.faults, kMostFaults);
    return choice;
  }
  if (!tainted) return choice;
  if (status != "True") {
    choice.past.good_since.reset();
    return choice;
  }
  // A wall clock that was set back begins the time anew.
  if (!past.good_since || *past.good_since > second) choice.past.good_since = second;
  choice.tainted = good < WaitAfterFaults(past.faults);
  return choice;
}

}  // namespace muster::control
