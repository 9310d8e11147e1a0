// Sends the coordinator any stream of messages of two workers: no crash, no undefined arithmetic,
// and what it keeps and the time that it takes are bounded, whatever the messages say and however
// many there are.
#include <sanitizer/allocator_interface.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/manual_clock.h"
#include "operator/alerts/job_alerts.h"
#include "operator/coordinator/progress/progress_board.h"
#include "operator/coordinator/stream/agent_bounds.h"
#include "operator/coordinator/stream/agent_registry.h"
#include "operator/core/resume/resume.h"
#include "proto/muster/v1alpha1/agent_limits.h"

namespace muster::control {
namespace {

constexpr char kUid[] = "uid";
constexpr int kRanks = 2;
// The most of one input. The coordinator is sent a message as often as a record says.
constexpr size_t kMostBytes = size_t{16} << 20;
constexpr int kMostMessages = 1 << 15;
// The records of two workers and a job's newest steps.
constexpr size_t kMostKept = size_t{8} << 20;
constexpr double kMostCpuSeconds = 5;

void Check(bool holds) {
  if (!holds) std::abort();
}

class DeafStream final : public AgentStream {
 public:
  absl::Status Send(EncodedMessage) override { return absl::OkStatus(); }
  void Close(const absl::Status&) override {}
};

// A record of the input: a byte that says who sends the message, how often and how fast; two bytes
// of length; the message.
struct Record {
  size_t worker = 0;
  int times = 1;
  bool slowly = false;  // a second passes before each
  bool settles = false;
  v1alpha1::AgentMessage message;
  size_t bytes = 0;
};

std::vector<Record> RecordsOf(const uint8_t* data, size_t size) {
  std::vector<Record> records;
  for (size_t at = 0; at + 3 <= size;) {
    const size_t length = data[at + 1] | size_t{data[at + 2]} << 8;
    Record record;
    record.worker = data[at] >> 7;
    record.slowly = (data[at] & 0x40) != 0;
    record.settles = (data[at] & 0x20) != 0;
    record.times = 1 << std::min(data[at] & 0x0F, 12);
    record.bytes = length;
    at += 3;
    if (length > size - at || length > v1alpha1::kMaxAgentMessage) break;
    if (record.message.ParseFromArray(data + at, static_cast<int>(length))) {
      records.push_back(std::move(record));
    }
    at += length;
  }
  return records;
}

// Counts on, so that no repeated message is dropped as sent again. An absurd number stays one.
void CountOn(v1alpha1::AgentMessage& message) {
  const auto next = [](int64_t number) { return number == INT64_MAX ? number : number + 1; };
  if (message.has_rank_exited()) {
    v1alpha1::RoundId& round = *message.mutable_rank_exited()->mutable_round();
    round.set_round(next(round.round()));
  }
  if (!message.has_steps()) return;
  const int steps = message.steps().steps_size();
  for (v1alpha1::StepReport& step : *message.mutable_steps()->mutable_steps()) {
    v1alpha1::Version& version = *step.mutable_version();
    version.set_step(version.step() > INT64_MAX - steps ? INT64_MAX : version.step() + steps);
    if (step.slowest_rank() < INT32_MAX) step.set_slowest_rank(step.slowest_rank() + 1);
    step.set_finished_at_us(next(step.finished_at_us()));
  }
}

v1alpha1::TrainingJobSpec Spec() {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_workers()->set_count(2);
  spec.mutable_workers()->set_ranks(kRanks);
  v1alpha1::AlertRule* rule = spec.add_alerts();
  rule->set_name("flat");
  rule->set_kind("LossNotFalling");
  rule->mutable_loss_not_falling()->set_evaluations(5);
  rule = spec.add_alerts();
  rule->set_name("spike");
  rule->set_kind("LossSpike");
  rule->mutable_loss_spike()->set_factor(2);
  rule = spec.add_alerts();
  rule->set_name("slow");
  rule->set_kind("ThroughputDrop");
  rule->mutable_throughput_drop()->set_factor(0.5);
  rule->mutable_throughput_drop()->set_for_("1s");
  return spec;
}

class Coordinator {
 public:
  Coordinator() {
    registry_.SetLeader();
    JobRegistration job;
    job.key = "default/gpt";
    job.uid = kUid;
    job.spec = std::make_shared<const v1alpha1::TrainingJobSpec>(spec_);
    job.incarnations = {1, 1};
    registry_.Register(job);
    for (int worker = 0; worker < 2; ++worker) Attach(worker);
  }

  void Take(const Record& record) {
    v1alpha1::AgentMessage message = record.message;
    for (int i = 0; i < record.times; ++i) {
      if (messages_++ >= kMostMessages || (bytes_ += record.bytes) > kMostBytes) break;
      if (record.slowly) clock_.Advance(absl::Seconds(1));
      if (!registry_.Receive(attachments_[record.worker], message).ok()) {
        registry_.Detach(attachments_[record.worker]);
        clock_.Advance(absl::Seconds(1));
        Attach(static_cast<int>(record.worker));
        if (!record.slowly) break;
      }
      CountOn(message);
    }
    CheckKept();
    if (record.settles) board_.Settle(kUid);
  }

 private:
  void Attach(int worker) {
    v1alpha1::AgentHello hello;
    hello.mutable_worker()->set_job("gpt");
    hello.mutable_worker()->set_job_uid(kUid);
    hello.mutable_worker()->set_index(worker);
    hello.mutable_worker()->set_incarnation(1);
    hello.set_ranks(kRanks);
    const auto attached = registry_.Attach(hello, std::make_shared<DeafStream>());
    Check(attached.ok());
    attachments_[worker] = *attached;
  }

  // Decides by what was kept, as the controller does.
  void CheckKept() {
    std::vector<v1alpha1::RankPosition> positions;
    registry_.VisitAgents(kUid, [&](const AgentState& state) {
      Check(state.exits.size() <= AgentState::kMaxFailures);
      Check(state.stalls.size() <= AgentState::kMaxFailures);
      if (!state.ready) return;
      Check(state.ready->ranks_size() <= kRanks);
      for (const auto& rank : state.ready->ranks()) positions.push_back(rank.position());
    });
    if (!positions.empty()) Check(DecideResume(positions, {}).point.next_attempt() >= 0);
    const ProgressSnapshot seen = board_.Snapshot(kUid);
    Check(std::isfinite(seen.tokens_per_second) && seen.tokens_per_second >= 0);
    Check(std::isfinite(seen.steps_per_second) && seen.steps_per_second >= 0);
    Check(std::isfinite(seen.mean_busy_seconds) && std::isfinite(seen.times.compute()));
    Check(board_.Curve(kUid).size() <= ProgressBoard::kCurvePoints);
    const TrainingHistory history = board_.History(kUid, alerts_.round, alerts_.step);
    EvaluateAlerts(spec_.alerts(), {}, {clock_.Monotonic(), absl::InfiniteFuture(), false, history},
                   alerts_);
  }

  const v1alpha1::TrainingJobSpec spec_ = Spec();
  ManualClock clock_;
  ProgressBoard board_;
  AgentRegistry registry_{clock_, &board_, [](const std::string&) {}};
  AlertMemory alerts_;
  uint64_t attachments_[2] = {};
  int messages_ = 0;
  size_t bytes_ = 0;
};

double CpuSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace
}  // namespace muster::control

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster::control;
  const std::vector<Record> records = RecordsOf(data, size);
  const double begun = CpuSeconds();
  Coordinator coordinator;
  const size_t before = __sanitizer_get_current_allocated_bytes();
  for (const Record& record : records) coordinator.Take(record);
  Check(__sanitizer_get_current_allocated_bytes() <= before + kMostKept);
  Check(CpuSeconds() - begun <= kMostCpuSeconds);
  return 0;
}
