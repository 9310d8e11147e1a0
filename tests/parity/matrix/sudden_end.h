#ifndef MUSTER_TESTS_PARITY_MATRIX_SUDDEN_END_H_
#define MUSTER_TESTS_PARITY_MATRIX_SUDDEN_END_H_

#include <cstdint>
#include <memory>
#include <string>

#include "tests/parity/toy_run.h"
#include "trainer/engine/link/link.h"
#include "trainer/engine/link/round_network.h"
#include "trainer/engine/testing/thread_rounds.h"
#include "trainer/model/block.h"

namespace muster::trainer {

// The moment at which a rank is lost: at a place in [0, 1) of what it does in a step, from 2 on.
struct Moment {
  int64_t step = INT64_MAX;  // never
  double place = 0.0;
};

// Ends a trainer at a moment of a step, as the loss of its process would: between two tasks, before
// a collective or after one. What is done in a step is counted in the step before. The parts below
// report to it; all run on the engine's thread, and it must outlive them.
class SuddenEnd {
 public:
  SuddenEnd(const Moment& moment, Inbox& inbox) : moment_(moment), inbox_(inbox) {}

  void StepBegins(int64_t step);
  void Pass();

 private:
  const Moment moment_;
  Inbox& inbox_;
  int64_t step_ = 0;
  int64_t passed_ = 0, passed_before_ = 0;  // in this step and in the one before
};

// Feeds the toys' data.
class EndingFeed final : public GrammarFeed {
 public:
  EndingFeed(int64_t rows, SuddenEnd& end) : GrammarFeed(rows), end_(end) {}
  absl::StatusOr<MicroBatch> Training(const MicroBatchPosition& place) override;

 private:
  SuddenEnd& end_;
};

// Returns the model with blocks that report when they run.
Model Watched(Model model, SuddenEnd& end);

// Connects rounds among threads; the communicators report operations that begin and that are over.
class EndingNetwork final : public RoundNetwork {
 public:
  EndingNetwork(ThreadNetwork::Rounds& rounds, SuddenEnd& end) : inner_(rounds), end_(end) {}
  void SetDeadline(absl::Duration deadline) override { inner_.SetDeadline(deadline); }
  void SetSecret(std::string secret) override { inner_.SetSecret(std::move(secret)); }
  absl::StatusOr<std::string> Serve() override { return inner_.Serve(); }
  std::unique_ptr<RoundConnector> MakeConnector(const GroupPlace& place,
                                                const std::string& store) override;

 private:
  ThreadNetwork inner_;
  SuddenEnd& end_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_MATRIX_SUDDEN_END_H_
