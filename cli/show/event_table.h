#ifndef MUSTER_CLI_SHOW_EVENT_TABLE_H_
#define MUSTER_CLI_SHOW_EVENT_TABLE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/json.h"

namespace muster::cli {

// Returns the events of one job and its pods as a table, oldest first: those whose involved object
// is the TrainingJob `job`, or one of `pods` by name. Events of other objects are left out. Pure.
std::string EventTable(const std::vector<Json>& events, const std::string& job,
                       const std::vector<std::string>& pods, absl::Time now);

// Returns the events about this job and these pods, oldest first.
std::vector<Json> EventsAbout(const std::vector<Json>& events, const std::string& job,
                              const std::vector<std::string>& pods);

// Returns the names of pods, as the functions above take them.
std::vector<std::string> NamesOf(const std::vector<Json>& pods);

// Returns the time at which an event happened last; InfinitePast if it names none.
absl::Time LastTimeOf(const Json& event);

}  // namespace muster::cli

#endif  // MUSTER_CLI_SHOW_EVENT_TABLE_H_
