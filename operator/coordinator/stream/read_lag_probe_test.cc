#include "operator/coordinator/stream/read_lag_probe.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/coordinator.grpc.pb.h"

namespace muster::control {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A slow server, which answers when the test tells it to.
class LateCoordinator final : public v1alpha1::Coordinator::CallbackService {
 public:
  grpc::ServerUnaryReactor* Identify(grpc::CallbackServerContext* context,
                                     const v1alpha1::IdentifyRequest*,
                                     v1alpha1::IdentifyResponse*) override {
    MutexLock lock(mu_);
    waiting_ = context->DefaultReactor();
    asked_.NotifyAll();
    return waiting_;
  }
  void WaitForQuestion() {
    MutexLock lock(mu_);
    while (waiting_ == nullptr) asked_.Wait(mu_);
  }
  void Answer(grpc::StatusCode code = grpc::StatusCode::UNIMPLEMENTED) {
    MutexLock lock(mu_);
    std::exchange(waiting_, nullptr)->Finish(grpc::Status(code, ""));
  }

 private:
  Mutex mu_;
  CondVar asked_;
  grpc::ServerUnaryReactor* waiting_ MUSTER_GUARDED_BY(mu_) = nullptr;
};

class ReadLagProbeTest : public testing::Test {
 protected:
  ReadLagProbeTest() {
    grpc::ServerBuilder builder;
    builder.RegisterService(&coordinator_);
    server_ = builder.BuildAndStart();
    probe_ = ReadLagProbe::Start(*server_, clock_, [this](absl::Time when) {
               MutexLock lock(mu_);
               heard_.push_back(when);
             }).value();
    coordinator_.WaitForQuestion();
  }
  void AnswerUntilTheNext() {
    coordinator_.Answer();
    coordinator_.WaitForQuestion();
  }
  void End() {
    coordinator_.Answer();
    probe_.reset();
  }
  std::vector<absl::Time> heard() const {
    MutexLock lock(mu_);
    return heard_;
  }

  ManualClock clock_;
  LateCoordinator coordinator_;
  mutable Mutex mu_;
  std::vector<absl::Time> heard_ MUSTER_GUARDED_BY(mu_);
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<ReadLagProbe> probe_;
};

TEST_F(ReadLagProbeTest, AnUnansweredRequestProvesNothing) {
  const absl::Time first = clock_.Monotonic();
  clock_.Advance(absl::Seconds(30));
  EXPECT_THAT(heard(), IsEmpty());
  AnswerUntilTheNext();
  const absl::Time second = clock_.Monotonic();
  EXPECT_THAT(heard(), IsEmpty()) << "what came with the question may still be on its way";
  clock_.Advance(absl::Seconds(30));
  AnswerUntilTheNext();
  EXPECT_THAT(heard(), ElementsAre(first));
  AnswerUntilTheNext();
  EXPECT_THAT(heard(), ElementsAre(first, second));
  End();
}

TEST_F(ReadLagProbeTest, AnAnswerThatIsNotTheServersCountsForNothing) {
  coordinator_.Answer(grpc::StatusCode::UNAVAILABLE);
  coordinator_.WaitForQuestion();
  AnswerUntilTheNext();
  EXPECT_THAT(heard(), IsEmpty());
  End();
}

}  // namespace
}  // namespace muster::control
