#ifndef MUSTER_TESTS_SIMULATION_PROMISES_H_
#define MUSTER_TESTS_SIMULATION_PROMISES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "operator/core/state/view.h"
#include "operator/core/testing/sim_agent.h"

namespace muster::control {

// Checks what must hold under every leader. The simulation reports everything that happens to jobs,
// and this collects the promises that were broken. Jobs are named by UID.
class Promises {
 public:
  // Writes that the API server accepted.
  void PodCreated(const Json& pod, const Json& job);
  void StatusWritten(const Json& before, const Json& after);

  // Reports an order that was sent, and the stamp that the job's status recorded at that moment.
  void OrderSent(const std::string& job, const Order& order, RoundStamp recorded);
  // Reports an agent's highest stamp before and after it handled an order.
  void AgentMoved(const std::string& agent, RoundStamp before, RoundStamp after);

  // Stepped(): the ranks of `round` applied `step`. Resumed(): `round` formed at `step`. With
  // `holder_lives`, a live agent still has the committed step, so it must not be lost.
  void Stepped(const std::string& job, int64_t round, int64_t step);
  void Resumed(const std::string& job, int64_t round, int64_t step, bool holder_lives);

  int64_t committed(const std::string& job) const;
  const std::vector<std::string>& broken() const { return broken_; }
  void Break(const std::string& what) { broken_.push_back(what); }

 private:
  std::set<std::string> created_;  // job UID and pod name
  std::map<std::pair<std::string, int64_t>, std::string> membership_;
  std::map<std::pair<std::string, int64_t>, std::string> resume_;
  std::map<std::string, int64_t> stepped_round_;
  std::map<std::string, int64_t> committed_;
  std::vector<std::string> broken_;
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_PROMISES_H_
