#include "operator/queue/schedule_options.h"

namespace muster::control {

VictimOptions VictimOptionsOf(const ScheduleOptions& options) {
  VictimOptions victims;
  victims.restart_cost = options.restart_cost;
  victims.reshape_cost = options.reshape_cost;
  victims.budget = options.victim_search_budget;
  victims.gate = options.gate;
  victims.stop_grace = options.stop_grace;
  return victims;
}

}  // namespace muster::control
