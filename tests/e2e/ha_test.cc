// Runs three replicas of the operator on a real control plane, with real agents and trainers. The
// leader is killed, stopped past its lease and thawed, or shut down, at moments of a job's life
// drawn by the seed, while another job trains. Outcomes are asserted; the durations of hand-overs
// are printed.
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/job_field.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/e2e/e2e_world.h"
#include "tests/e2e/job_observer.h"
#include "tests/e2e/operator_replicas.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using control::JobNumber;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

enum class Fault { kKilled, kFrozen, kStopped };
enum class Moment { kCreating, kBinding, kOpening, kTraining, kCommitting };
constexpr const char* kFaultNames[] = {"Killed", "Frozen", "Stopped"};
constexpr const char* kMomentNames[] = {"Creating", "Binding", "Opening", "Training", "Committing"};

constexpr int kWorkers = 3;

// Enough pods that the leader is still creating them when the first ones are seen.
constexpr int kMany = 60;
// A clean hand-over takes half a second on an idle machine; one after a crash takes the lease and
// less than a second more. The lease is long enough that a leader on a busy machine does not lose
// it.
const std::vector<std::string> kLeaseFlags = {"--lease-duration=12s", "--renew-deadline=10s",
                                              "--retry-period=500ms"};

struct Case {
  Fault fault;
  Moment moment;
  int seed;
};

std::string NameOf(const Case& at) {
  return absl::StrCat(kFaultNames[static_cast<int>(at.fault)],
                      kMomentNames[static_cast<int>(at.moment)], at.seed);
}

// Everything about a training job that must not change.
struct Life {
  int64_t round = 0;
  std::map<std::string, std::vector<pid_t>> processes;  // by pod uid
  bool operator==(const Life&) const = default;
};

void PrintTo(const Life& life, std::ostream* out) {
  *out << "round " << life.round;
  for (const auto& [uid, pids] : life.processes) {
    *out << ", pod " << uid;
    for (const pid_t pid : pids) *out << " " << pid;
  }
}

class HaTest : public testing::TestWithParam<Case> {
 protected:
  static void SetUpTestSuite() {
    auto world = E2eWorld::Create({.replicas = 3, .lease_flags = kLeaseFlags});
    ASSERT_TRUE(world.ok()) << world.status();
    world_ = world->release();
    observer_ = new JobObserver(world_->cluster().api(), world_->cluster().name_space());
    for (const char* node : {"n1", "n2"}) {
      const absl::Status started = world_->StartNode(node, /*cpus=*/2);
      ASSERT_TRUE(started.ok()) << started;
    }
    const absl::Status started = world_->StartOperators();
    ASSERT_TRUE(started.ok()) << started;
    // This job trains through all cases.
    world_->SetCheckpointInterval(1'000'000);
    ASSERT_TRUE(world_->ApplyJob("steady", 1, E2eWorld::kEndless).ok());
    const auto running = world_->WaitForRound("steady", 1);
    ASSERT_TRUE(running.ok()) << running.status();
    world_->SetCheckpointInterval(20);
  }
  static void TearDownTestSuite() {
    delete std::exchange(observer_, nullptr);
    delete std::exchange(world_, nullptr);
  }
  void SetUp() override { ASSERT_NE(observer_, nullptr); }
  void TearDown() override {
    if (HasFailure() && world_ != nullptr) ADD_FAILURE() << world_->Logs();
  }

  static Life LifeOf(const std::string& job) {
    Life life;
    life.round = observer_->Job(job).round;
    for (const auto& [name, pod] : world_->Pods(job)) {
      std::vector<pid_t>& pids = life.processes[kube::UidOf(pod)];
      for (const char* program : {"muster-agent", "muster-trainer"}) {
        for (const pid_t pid : world_->ProcessesOf(pod, program)) pids.push_back(pid);
      }
    }
    return life;
  }

  static bool WritesACheckpoint(const std::string& job) {
    const auto entries = FileSystem().List(world_->Checkpoints(job));
    if (!entries.ok()) return false;
    return std::any_of(entries->begin(), entries->end(), [](const DirectoryEntry& entry) {
      return absl::StrContains(entry.name, ".r");
    });
  }

  // A job that no node has room for. Each case uses its own name, because pods of the previous case
  // may still be there.
  static std::string ManyFor(const std::string& job) { return "many-" + job; }
  static std::string ManyPods(const std::string& job) {
    return absl::StrReplaceAll(world_->Manifest(ManyFor(job), kMany, /*steps=*/10),
                               {{"cpu: 1}", "cpu: 64}"}, {"globalBatch: 8", "globalBatch: 128"}});
  }

  static void ExpectManyPodsOnce(const std::string& job, const std::string& before) {
    const std::string many = ManyFor(job);
    std::cout << "pods made before the hand-over: "
              << std::vector<absl::string_view>(
                     absl::StrSplit(before, absl::StrCat(" pod=", many, "-")))
                         .size() -
                     1
              << std::endl;
    EXPECT_TRUE(observer_->WaitUntil(
        many, [](const auto& now) { return now.pods.size() == size_t{kMany}; }));
    EXPECT_EQ(world_->Pods(many).size(), static_cast<size_t>(kMany));
    EXPECT_TRUE(world_->cluster().Kubectl({"delete", "trainingjob", many})->ok());
    EXPECT_EQ(observer_->Job(many).pods.size(), static_cast<size_t>(kMany));
    EXPECT_THAT(observer_->broken(), IsEmpty());
  }

  // Returns at the moment or up to 15 ms after it.
  static bool WaitForMoment(Moment moment, const std::string& job, std::mt19937& random) {
    const int nth = std::uniform_int_distribution<>(1, kWorkers)(random);
    const int step = std::uniform_int_distribution<>(5, 25)(random);
    const int many = std::uniform_int_distribution<>(1, kMany * 2 / 3)(random);
    const int later = std::uniform_int_distribution<>(0, 15)(random);
    using History = JobObserver::JobHistory;
    bool came = false;
    switch (moment) {
      case Moment::kCreating:
        EXPECT_TRUE(world_->cluster().Apply(ManyPods(job)).ok());
        came = observer_->WaitUntil(ManyFor(job), [&](const History& now) {
          return static_cast<int>(now.pods.size()) >= many;
        });
        break;
      case Moment::kBinding:
        came = observer_->WaitUntil(job, [&](const History& now) { return now.bound() >= nth; });
        break;
      case Moment::kOpening:
        came = observer_->WaitUntil(job, [](const History& now) { return now.round >= 1; });
        break;
      case Moment::kTraining:
        came = observer_->WaitUntil(job, [&](const History& now) { return now.step >= step; });
        break;
      case Moment::kCommitting:
        while (!(came = WritesACheckpoint(job)) && observer_->Job(job).state != "Succeeded") {
          poll(nullptr, 0, 1);
        }
        return came;
    }
    if (moment > Moment::kBinding) poll(nullptr, 0, later);  // before or after the next action
    return came;
  }

  // The number of leaderships so far, as the Lease counts them.
  static int64_t Leaderships() {
    const auto lease =
        world_->cluster().api().Get(kube::kLeases, {"muster-system", "muster-operator"});
    EXPECT_TRUE(lease.ok()) << lease.status();
    const Json* transitions =
        lease.ok() ? kube::Find(*lease, {"spec", "leaseTransitions"}) : nullptr;
    return transitions == nullptr ? 0 : transitions->get<int64_t>();
  }

  // Applies the fault to the leader and waits until another replica leads. Returns how long that
  // took.
  absl::Duration HandOver(Fault fault, int leader, std::mt19937& random) {
    OperatorReplicas& operators = world_->operators();
    const absl::Time struck = absl::Now();
    const int signal = fault == Fault::kKilled    ? SIGKILL
                       : fault == Fault::kStopped ? SIGTERM
                                                  : SIGSTOP;
    EXPECT_TRUE(operators.Signal(leader, signal).ok());
    std::optional<int> next;
    const absl::Status status = world_->WaitFor("another operator leads", [&] {
      next = operators.Leader(leader);
      return next.has_value() && *operators.LeadingSince(*next) > struck;
    });
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return absl::InfiniteDuration();
    if (fault == Fault::kFrozen) {
      // When the old leader wakes up, both replicas believe that they lead.
      poll(nullptr, 0, std::uniform_int_distribution<>(0, 300)(random));
      EXPECT_TRUE(operators.Signal(leader, SIGCONT).ok());
    }
    return *operators.LeadingSince(*next) - struck;
  }

  void ExpectEnd(Fault fault, int leader) {
    OperatorReplicas& operators = world_->operators();
    const absl::Status ended = world_->WaitFor("the former leader ends",
                                               [&] { return operators.End(leader).has_value(); });
    ASSERT_TRUE(ended.ok()) << ended;
    const ExitStatus end = *operators.End(leader);
    switch (fault) {
      case Fault::kKilled:
        EXPECT_EQ(end.signal, SIGKILL);
        break;
      case Fault::kFrozen: {
        EXPECT_EQ(end.code, kExitRefused) << DescribeExit(end);
        const std::string log = operators.LifeLog(leader);
        const size_t lost = log.find(" lease lost ");
        ASSERT_NE(lost, std::string::npos);
        EXPECT_THAT(log.substr(lost),
                    Not(testing::AnyOf(HasSubstr(" pod created "), HasSubstr(" pod bound "),
                                       HasSubstr(" pod deleted "))));
        break;
      }
      case Fault::kStopped:
        EXPECT_EQ(end.code, kExitOk) << DescribeExit(end);
        EXPECT_THAT(operators.LifeLog(leader), Not(HasSubstr(" lease not released ")));
        break;
    }
  }

  // Expects that the job's trainers prepared only rounds that the status recorded, each once and in
  // order.
  void ExpectOrdersOfRecord(const std::string& job, const std::map<std::string, Json>& pods) {
    const JobObserver::JobHistory history = observer_->Job(job);
    for (const auto& [name, pod] : pods) {
      int64_t last = 0;
      bool any = false;
      for (const auto& [file, log] : world_->PodLogs(pod)) {
        if (!absl::StartsWith(file, "rank-")) continue;  // the agent's log repeats these lines
        for (const absl::string_view line : absl::StrSplit(log, '\n')) {
          const size_t at = line.find(" prepared round=");
          int64_t round = 0;
          if (at == absl::string_view::npos) continue;
          const absl::string_view rest = line.substr(at + 16);
          ASSERT_TRUE(absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &round)) << line;
          any = true;
          EXPECT_GT(round, last) << name << ": " << line;
          EXPECT_TRUE(history.rounds.count(round)) << name << ": " << line;
          last = round;
        }
      }
      EXPECT_TRUE(any) << name << ": its log says no round";
    }
  }

  static E2eWorld* world_;
  static JobObserver* observer_;
};
E2eWorld* HaTest::world_ = nullptr;
JobObserver* HaTest::observer_ = nullptr;

TEST_P(HaTest, TheJobsDoNotNoticeAndEndAsTheyShould) {
  const Case& at = GetParam();
  const std::string job = absl::AsciiStrToLower(NameOf(at));
  const bool trained = at.moment == Moment::kTraining || at.moment == Moment::kCommitting;
  const int steps = trained ? 100 : 40;
  std::mt19937 random(at.seed);
  OperatorReplicas& operators = world_->operators();
  const std::optional<int> leader = operators.Leader();
  ASSERT_TRUE(leader.has_value());
  const Life steady = LifeOf("steady");
  const int64_t steps_before = observer_->Job("steady").step;

  ASSERT_TRUE(world_->ApplyJob(job, kWorkers, steps).ok());
  ASSERT_TRUE(WaitForMoment(at.moment, job, random));
  const int64_t leaderships = Leaderships();
  const absl::Duration took = HandOver(at.fault, *leader, random);
  ExpectEnd(at.fault, *leader);
  std::cout << "hand-over " << NameOf(at) << ": " << took << std::endl;
  RecordProperty("hand_over_ms", static_cast<int>(absl::ToInt64Milliseconds(took)));
  EXPECT_EQ(Leaderships(), leaderships + 1) << "one leader followed the other";

  if (at.moment == Moment::kCreating) ExpectManyPodsOnce(job, operators.LifeLog(*leader));

  const auto done = world_->WaitForJob(job, "it succeeded", [](const Json& now) {
    return absl::StartsWith(ConditionOf(now, "Succeeded"), "True");
  });
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(StepOf(*done), steps);
  EXPECT_EQ((*done)["status"]["checkpoint"]["step"], steps);
  EXPECT_TRUE(
      Exists(FileSystem(), absl::StrFormat("%s/step-%09d/DONE", world_->Checkpoints(job), steps)));
  EXPECT_EQ(JobNumber(*done, {"status", "failures", "count"}), 0);
  if (trained) {
    EXPECT_EQ(RoundOf(*done), 1) << "the round was adopted";
  }

  const JobObserver::JobHistory history = observer_->Job(job);
  std::vector<std::string> made;
  for (const auto& [name, pod] : history.pods) made.push_back(name);
  EXPECT_THAT(made, ElementsAre(job + "-0-1", job + "-1-1", job + "-2-1")) << "no pod for nothing";
  EXPECT_THAT(observer_->broken(), IsEmpty());
  std::map<std::string, Json> pods;
  const auto list = world_->cluster().List(kube::kPods, "muster.dev/job=" + job);
  ASSERT_TRUE(list.ok()) << list.status();
  for (const Json& pod : *list) pods[kube::NameOf(pod)] = pod;
  EXPECT_EQ(pods.size(), static_cast<size_t>(kWorkers));
  ExpectOrdersOfRecord(job, pods);

  EXPECT_TRUE(
      observer_->WaitUntil("steady", [&](const auto& now) { return now.step > steps_before; }));
  EXPECT_EQ(LifeOf("steady"), steady) << "it trains in the same processes and the same round";

  EXPECT_TRUE(world_->cluster().Kubectl({"delete", "trainingjob", job})->ok());
  ASSERT_TRUE(operators.Launch(*leader).ok());
  ASSERT_TRUE(
      world_->WaitFor("it is a candidate again", [&] { return operators.HasStarted(*leader); })
          .ok());
}

// Each moment occurs with at least one fault, and each fault at three moments.
INSTANTIATE_TEST_SUITE_P(Seeds, HaTest,
                         testing::Values(Case{Fault::kKilled, Moment::kCreating, 1},
                                         Case{Fault::kStopped, Moment::kBinding, 2},
                                         Case{Fault::kFrozen, Moment::kOpening, 3},
                                         Case{Fault::kKilled, Moment::kCommitting, 4},
                                         Case{Fault::kStopped, Moment::kOpening, 5},
                                         Case{Fault::kFrozen, Moment::kCreating, 6},
                                         Case{Fault::kKilled, Moment::kOpening, 7},
                                         Case{Fault::kStopped, Moment::kCommitting, 8},
                                         Case{Fault::kFrozen, Moment::kTraining, 9}),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace muster::tests
