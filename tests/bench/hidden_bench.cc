// usage: hidden_bench
//
// Measures how much of the communication of two data-parallel ranks is hidden behind computation.
// The ranks are threads, and between them is a link that carries one collective at a time and
// sleeps for its bytes. Every other step has an infinitely fast link: from when collectives begin
// there follows what the task graph allows to hide on the slow one. Prints a JSON object.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "ATen/Parallel.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "planner/model_shape.h"
#include "tests/bench/or_die.h"
#include "tests/bench/random_feed.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/testing/forwarding_communicator.h"
#include "trainer/model/families/model_factory.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/schedule.h"

namespace muster::trainer {
namespace {

constexpr int kRanks = 2, kWarm = 8, kPairs = 24;

// A collective of one step, when both ranks have issued it.
struct Carried {
  absl::Time issued;
  int64_t bytes = 0;
};

// Carries one collective at a time. Thread-safe.
class SleepingLink {
 public:
  // Returns the collective's number, for Arrival().
  int64_t Issue(int rank, int64_t bytes) {
    MutexLock lock(mu_);
    const int64_t number = issued_by_[rank]++;
    if (number == static_cast<int64_t>(arrivals_.size())) {
      arrivals_.push_back(absl::InfiniteFuture());
      return number;
    }
    const absl::Time now = absl::Now();
    free_at_ =
        std::max(free_at_, now) + absl::Seconds(static_cast<double>(bytes) * seconds_per_byte_);
    arrivals_[static_cast<size_t>(number)] = free_at_;
    step_.push_back({now, bytes});
    return number;
  }
  // The time when the collective's data is there, once both ranks have issued it.
  absl::Time Arrival(int64_t number) {
    MutexLock lock(mu_);
    return arrivals_[static_cast<size_t>(number)];
  }
  void SetSpeed(double seconds_per_byte) {
    MutexLock lock(mu_);
    seconds_per_byte_ = seconds_per_byte;
  }
  // Returns the collectives since the last call.
  std::vector<Carried> TakeStep() {
    MutexLock lock(mu_);
    return std::exchange(step_, {});
  }

 private:
  Mutex mu_;
  int64_t issued_by_[kRanks] MUSTER_GUARDED_BY(mu_) = {};
  std::vector<absl::Time> arrivals_ MUSTER_GUARDED_BY(mu_);
  std::vector<Carried> step_ MUSTER_GUARDED_BY(mu_);
  absl::Time free_at_ MUSTER_GUARDED_BY(mu_) = absl::InfinitePast();
  double seconds_per_byte_ MUSTER_GUARDED_BY(mu_) = 0.0;
};

class SlowPending final : public Pending {
 public:
  SlowPending(std::unique_ptr<Pending> inner, SleepingLink& link, int64_t number)
      : inner_(std::move(inner)), link_(link), number_(number) {}
  absl::Status Wait() override {
    const absl::Status done = inner_->Wait();
    absl::SleepFor(link_.Arrival(number_) - absl::Now());
    return done;
  }

 private:
  const std::unique_ptr<Pending> inner_;
  SleepingLink& link_;
  const int64_t number_;
};

class SlowCommunicator final : public ForwardingCommunicator {
 public:
  SlowCommunicator(Communicator& inner, SleepingLink& link)
      : ForwardingCommunicator(inner), link_(link) {}
  std::unique_ptr<Pending> AllReduce(at::Tensor tensor, ReduceOp op,
                                     std::string_view label) override {
    const auto bytes = static_cast<int64_t>(tensor.nbytes());
    // The rank that comes last knows the arrival before the inner collective is done.
    const int64_t number = link_.Issue(rank(), bytes);
    return std::make_unique<SlowPending>(
        ForwardingCommunicator::AllReduce(std::move(tensor), op, label), link_, number);
  }

 private:
  SleepingLink& link_;
};

// Returns the seconds until a step is done on a link of that speed, at best: each collective begins
// when it is issued and the link is free, and what follows the last one follows its arrival.
double Bound(const std::vector<Carried>& collectives, absl::Time begin, absl::Time end,
             double seconds_per_byte) {
  absl::Time free_at = begin;
  for (const Carried& each : collectives) {
    free_at = std::max(free_at, each.issued) +
              absl::Seconds(static_cast<double>(each.bytes) * seconds_per_byte);
  }
  return absl::ToDoubleSeconds(end - begin +
                               std::max(free_at - collectives.back().issued, absl::ZeroDuration()));
}

struct Timed {
  double seconds = 0.0;
  absl::Time begin, end;
  std::vector<Carried> collectives;
};

// The pairs of steps of rank 0, on the free and on the slow link.
struct Times {
  std::vector<double> free, slow, bound, carried;
};

class Bench {
 public:
  Bench(const planner::ModelShape& shape, int64_t sequence, double share)
      : shape_(planner::CompleteShape(shape)), share_(share) {
    options_.seed = 1;
    options_.sequence = sequence;
    options_.micro_batch = 4;
    options_.micro_batches = kRanks;
    options_.optimizer.make = &MakeAdamW;
    options_.schedule = {.rate = &ConstantRate, .peak = 3e-4};
  }

  Times Run() {
    auto world = MakeLocalCommunicators({.size = kRanks});
    std::vector<std::thread> ranks;
    for (int r = 0; r < kRanks; ++r) {
      ranks.emplace_back([this, r, &communicator = *world[static_cast<size_t>(r)]] {
        at::set_num_threads(1);
        RunRank(r, communicator);
      });
    }
    for (std::thread& rank : ranks) rank.join();
    return std::move(times_);
  }

 private:
  void RunRank(int rank, Communicator& inner) {
    SlowCommunicator communicator(inner, link_);
    const auto state = OrDie(TrainingState::Create(OrDie(MakeModel(shape_)), options_));
    OkOrDie(state->InitializeFresh());
    RandomFeed feed(options_, shape_.vocabulary);
    PhaseTimer timer(Clock::Real(), Phase::kOther);
    const std::atomic<bool> interrupt = false;
    Engine engine(*state, feed, timer, interrupt);
    OkOrDie(engine.BeginAlone(communicator));
    const auto step = [&] {
      Timed timed{.begin = absl::Now()};
      OkOrDie(engine.Step({}).status());
      timed.end = absl::Now();
      timed.seconds = absl::ToDoubleSeconds(timed.end - timed.begin);
      if (rank == 0) timed.collectives = link_.TakeStep();
      return timed;
    };
    std::vector<Timed> warm;
    for (int i = 0; i < kWarm; ++i) warm.push_back(step());
    const double speed = rank == 0 ? SpeedFor(warm) : 0.0;
    for (int i = 0; i < kPairs; ++i) {
      // Collectives take the speed that is set when the last rank issues them.
      if (rank == 0) link_.SetSpeed(0.0);
      const Timed free = step();
      if (rank == 0) link_.SetSpeed(speed);
      const Timed slow = step();
      if (rank == 0) Record(free, slow, speed);
    }
  }

  // Returns the seconds per byte for which a step's collectives take `share_` of the step.
  double SpeedFor(const std::vector<Timed>& warm) const {
    std::vector<double> seconds;
    for (const Timed& each : warm) seconds.push_back(each.seconds);
    std::sort(seconds.begin(), seconds.end());
    return share_ * seconds[seconds.size() / 2] / static_cast<double>(Bytes(warm.back()));
  }
  static int64_t Bytes(const Timed& step) {
    int64_t bytes = 0;
    for (const Carried& each : step.collectives) bytes += each.bytes;
    return bytes;
  }
  void Record(const Timed& free, const Timed& slow, double speed) {
    times_.free.push_back(free.seconds);
    times_.slow.push_back(slow.seconds);
    times_.bound.push_back(Bound(free.collectives, free.begin, free.end, speed));
    times_.carried.push_back(static_cast<double>(Bytes(slow)) * speed);
  }

  const planner::ModelShape shape_;
  const double share_;
  TrainingOptions options_;
  SleepingLink link_;
  Times times_;
};

void Run() {
  const planner::ModelShape shape{
      .layers = 6, .heads = 6, .width = 384, .positions = 256, .vocabulary = 512};
  Json rows = Json::array();
  for (const double share : {0.25, 0.5, 0.75}) {
    const Times times = Bench(shape, 128, share).Run();
    rows.push_back({{"share", share},
                    {"free", times.free},
                    {"slow", times.slow},
                    {"bound", times.bound},
                    {"carried", times.carried}});
  }
  std::printf("%s\n", rows.dump().c_str());
}

}  // namespace
}  // namespace muster::trainer

int main() {
  muster::trainer::Run();
  return 0;
}
