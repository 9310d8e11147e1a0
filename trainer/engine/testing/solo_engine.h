#ifndef MUSTER_TRAINER_ENGINE_TESTING_SOLO_ENGINE_H_
#define MUSTER_TRAINER_ENGINE_TESTING_SOLO_ENGINE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "ATen/ops/equal.h"
#include "base/clock.h"
#include "gtest/gtest.h"
#include "planner/model_shape.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/commit/commit_machine.h"
#include "trainer/engine/link/phase_timer.h"
#include "trainer/engine/state/training_state.h"
#include "trainer/engine/step/engine.h"
#include "trainer/engine/testing/synthetic_feed.h"

namespace muster::trainer {

// One rank with its engine and a tiny model, alone in its round. An error fails the test.
struct SoloEngine {
  explicit SoloEngine(const TrainingOptions& options, double dropout = 0.0,
                      StateFiles* files = nullptr)
      : SoloEngine(options, TinyModel(dropout), files) {}
  SoloEngine(const TrainingOptions& options, const planner::ModelShape& model,
             StateFiles* files = nullptr)
      : state(MakeState(options, model, files)),
        feed(options, model.vocabulary),
        communicator(std::move(MakeLocalCommunicators({})[0])),
        engine(*state, feed, timer, interrupt) {
    EXPECT_TRUE(engine.BeginAlone(*communicator).ok());
  }
  StepOutcome Step() {
    auto outcome = engine.Step({});
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    EXPECT_TRUE(outcome->after.ok()) << outcome->after;
    return *outcome;
  }
  // Begins a new round from the live state, after `relay` if it holds a decision.
  void GoOn(const v1alpha1::StepDecision& relay) {
    v1alpha1::RoundId round;
    round.set_round(state->commit().round().round() + 1);
    ASSERT_TRUE(state->commit().Prepare(round).ok());
    v1alpha1::ResumePoint resume;
    resume.set_source(v1alpha1::ResumePoint::LIVE);
    resume.set_next_attempt(1);
    *resume.mutable_version() = *state->applied();
    if (relay.has_version()) {
      *resume.mutable_version() = relay.version();
      *resume.mutable_relay() = relay;
    }
    auto plan = state->commit().Go(round, 0, resume);
    ASSERT_TRUE(plan.ok()) << plan.status();
    if (plan->action == RestorePlan::Action::kApplyRelay) ASSERT_TRUE(state->Apply().ok());
    ASSERT_TRUE(engine.BeginRound(*communicator).ok());
  }
  std::vector<double> Losses(int steps) {
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(Step().decision.loss());
    return losses;
  }

  std::atomic<bool> interrupt = false;
  PhaseTimer timer{Clock::Real(), Phase::kOther};
  std::unique_ptr<TrainingState> state;
  SyntheticFeed feed;
  std::unique_ptr<Communicator> communicator;
  Engine engine;
};

inline void ExpectEqualState(const TrainingState& a, const TrainingState& b) {
  EXPECT_EQ(a.Digest(), b.Digest());
  const auto tensors_a = a.FlatTensors(), tensors_b = b.FlatTensors();
  for (size_t i = 0; i < tensors_a.size(); ++i) {
    EXPECT_TRUE(at::equal(tensors_a[i].tensor, tensors_b[i].tensor)) << tensors_a[i].name;
  }
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_SOLO_ENGINE_H_
