#ifndef MUSTER_OPERATOR_SCHEDULER_SCHEDULER_FIXTURE_H_
#define MUSTER_OPERATOR_SCHEDULER_SCHEDULER_FIXTURE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/cache/reflector.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/wrap/faulty_api.h"
#include "operator/scheduler/scheduler.h"

namespace muster::control {

// The scheduling cycle over the embedded API and caches that follow it, on a manual clock. The API
// that the scheduler writes to can be told to fail.
class SchedulerFixture : public testing::Test {
 protected:
  SchedulerFixture();

  // Adds a node with room for `gpus` pods of one GPU, ten at most.
  void AddNode(const std::string& name, int gpus, const Json& labels = Json::object(),
               const Json& spec = Json::object());
  void Cordon(const std::string& name, bool cordoned = true);
  // Adds two nodes in each of two zones: a0, a1, b0, b1.
  void AddZones(int gpus);

  // Adds a queue with a quota of `gpus`.
  void AddQueue(const std::string& name, int gpus);

  // Adds a job without pods, whose spec has `more`. AddPod adds pods to the job that was added
  // last.
  void AddJob(const std::string& name, int count, int min, const Json& topology = Json(),
              const std::string& queue = "", const Json& more = Json::object());
  void AddPod(const std::string& job, int index, int incarnation = 1,
              const Json& more = Json::object());
  // Adds a job with all its pods, whose specs have `more`. min == 0: all or none.
  void AddJobWithPods(const std::string& name, int count, const Json& more,
                      const Json& topology = Json(), int min = 0);
  // Returns the spec of a pod with one GPU, and `more`.
  static Json PodSpec(const Json& more);
  // Adds another scheduler's pod on a node.
  void AddForeign(const std::string& name, const std::string& node, const std::string& app,
                  const Json& more = Json::object());
  void DeletePod(const std::string& name);

  // Brings the caches up to date, then runs one cycle.
  int RunOnce();
  std::string NodeOf(const std::string& pod);
  // Returns how many of the job's first `count` pods are on nodes whose names begin with `prefix`.
  int PodsOn(const std::string& job, int count, const std::string& prefix);
  // UID of the job that was added last.
  const std::string& uid() const { return owner_.uid; }
  std::string Sentence() { return scheduler_->verdicts().Of(uid()).sentence; }

  ManualClock clock_;
  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<kube::FaultyApi> api_;
  JobCache jobs_{ParseTrainingJob};
  PodCache pods_{ParsePodRecord};
  NodeCache nodes_{ParseNodeRecord};
  QueueCache queues_{ParseTrainingQueue};
  PriorityCache priorities_{ParsePriorityClass};
  std::vector<std::string> verdict_changes_;  // keys of jobs whose verdict changed
  std::unique_ptr<Scheduler> scheduler_;

 private:
  std::vector<std::unique_ptr<kube::Reflector>> reflectors_;
  kube::OwnerReference owner_;
};

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_SCHEDULER_FIXTURE_H_
