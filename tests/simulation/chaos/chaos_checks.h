#ifndef MUSTER_TESTS_SIMULATION_CHAOS_CHAOS_CHECKS_H_
#define MUSTER_TESTS_SIMULATION_CHAOS_CHAOS_CHECKS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/simulation/chaos/chaos_world.h"

namespace muster::control {

// Collects what is wrong with a ChaosWorld: at any moment, and once its faults are over.
class ChaosChecks {
 public:
  explicit ChaosChecks(ChaosWorld& chaos) : chaos_(chaos) {}

  // Checks what holds at any moment: no CPU is given twice, no worker has two live pods, quotas and
  // spot bounds are kept.
  void Look();
  // Once faults are over: every job comes to its end, trains with the workers that it should have,
  // or waits for its quota; then nothing changes any more; nothing is left over; ledgers sum up.
  void CheckEnd();

  // Including the promises of the world that were broken.
  std::vector<std::string> wrong() const;

 private:
  void LookAtPods(const std::vector<Json>& pods);
  void LookAtJob(ChaosWorld::Job& job, const TrainingJob& now);
  void LookAtQuotas();
  std::string Unsettled(const ChaosWorld::Job& job) const;  // empty: it is as it should be
  std::string Unsettled() const;
  void CheckQuiet();
  void CheckLeftovers();
  void CheckLedger(const ChaosWorld::Job& job);
  void CountWanted(ChaosWorld::Job& job, const TrainingJob& now, int desired);
  void Wrong(const std::string& what) { wrong_.insert(what); }

  ChaosWorld& chaos_;
  std::map<std::string, int> bound_;  // live pods with a node, by job name
  std::map<std::string, int> on_spot_;
  int most_quota_ = 0;  // CPUs of all queues, which are one cohort
  int free_quota_ = 0;
  std::set<std::string> wrong_;
};

}  // namespace muster::control

#endif  // MUSTER_TESTS_SIMULATION_CHAOS_CHAOS_CHECKS_H_
