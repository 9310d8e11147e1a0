// A trainer without a model: speaks the link protocol as muster-trainer does, steps at a fixed
// pace, and misbehaves on request. For tests of the agent.
//
// Environment: SCRIPT_STEPS steps to the end (default: none), SCRIPT_EXIT=CODE[@RESTART] exits with
// CODE when told to go (only in that life of the rank), SCRIPT_HANG=1 falls silent when told to go,
// SCRIPT_SAY prints this at its start.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/net/link_frame.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace {

using muster::v1alpha1::FromTrainer;
using muster::v1alpha1::RoundId;
using muster::v1alpha1::ToTrainer;

constexpr int kLink = 3;

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class Trainer {
 public:
  int Run() {
    FromTrainer hello;
    hello.mutable_hello()->set_pid(getpid());
    Send(hello);
    while (true) {
      pollfd fd = {kLink, POLLIN, 0};
      poll(&fd, 1, 20);
      if (fd.revents != 0 && !Receive()) return 0;
      Heartbeat();
      if (stepping_) Step();
    }
  }

 private:
  void Send(const FromTrainer& message) {
    if (!muster::SendLinkFrame(kLink, message).ok()) std::_Exit(0);
  }

  void Heartbeat() {
    if (absl::Now() < next_heartbeat_) return;
    next_heartbeat_ = absl::Now() + absl::Milliseconds(50);
    FromTrainer message;
    *message.mutable_heartbeat()->mutable_round() = round_;
    Send(message);
  }

  // Returns false at the end of the link.
  bool Receive() {
    char bytes[4096];
    const ssize_t n = read(kLink, bytes, sizeof(bytes));
    if (n <= 0) return false;
    decoder_.Append(std::string_view(bytes, static_cast<size_t>(n)));
    while (true) {
      auto frame = decoder_.Next();
      if (!frame.ok()) return false;
      if (!frame->has_value()) return true;
      ToTrainer message;
      if (!message.ParseFromString(**frame)) return false;
      Obey(message);
    }
  }

  void Obey(const ToTrainer& message) {
    if (message.has_prepare()) Prepare(message.prepare());
    if (message.has_go()) Go(message.go());
    if (message.has_save()) Save();
    if (message.has_stop()) Finish();
  }

  void Prepare(const muster::v1alpha1::TrainerPrepare& prepare) {
    stepping_ = false;
    round_ = prepare.round();
    rank_ = prepare.rank();
    trajectory_ = prepare.trajectory();
    FromTrainer message;
    *message.mutable_ready()->mutable_round() = round_;
    auto* ready = message.mutable_ready()->mutable_ready();
    ready->mutable_position()->mutable_applied()->set_step(step_);
    ready->set_endpoint(rank_ == 0 ? "127.0.0.1:4000" : "");
    Send(message);
  }

  void Go(const muster::v1alpha1::GoRound& go) {
    std::string exit = Env("SCRIPT_EXIT");
    const size_t at = exit.find('@');
    const bool in_this_life =
        at == std::string::npos || exit.substr(at + 1) == Env("TORCHELASTIC_RESTART_COUNT");
    if (!exit.empty() && in_this_life) {
      std::fprintf(stderr, "about to exit with %s", exit.c_str());
      std::exit(std::atoi(exit.c_str()));
    }
    if (!Env("SCRIPT_HANG").empty()) raise(SIGSTOP);
    FromTrainer message;
    *message.mutable_joined()->mutable_round() = go.round();
    message.mutable_joined()->set_trajectory(trajectory_);
    Send(message);
    stepping_ = true;
  }

  void Step() {
    ++step_;
    FromTrainer message;
    *message.mutable_steps()->mutable_round() = round_;
    message.mutable_steps()->add_steps()->mutable_version()->set_step(step_);
    if (rank_ == 0) Send(message);
    const std::string steps = Env("SCRIPT_STEPS");
    if (!steps.empty() && step_ >= std::atoll(steps.c_str())) Finish();
  }

  void Save() {
    FromTrainer message;
    message.mutable_checkpoint()->set_phase(muster::v1alpha1::CheckpointReport::WRITTEN);
    message.mutable_checkpoint()->mutable_version()->set_step(step_);
    Send(message);
  }

  void Finish() {
    stepping_ = false;
    FromTrainer message;
    message.mutable_finished()->set_succeeded(true);
    message.mutable_finished()->mutable_version()->set_step(step_);
    Send(message);
  }

  muster::LinkFrameDecoder decoder_;
  absl::Time next_heartbeat_ = absl::InfinitePast();
  RoundId round_;
  int rank_ = -1;
  std::string trajectory_;
  int64_t step_ = 0;
  bool stepping_ = false;
};

}  // namespace

int main() {
  std::printf("%s rank %s of %s\n", Env("SCRIPT_SAY").c_str(), Env("RANK").c_str(),
              Env("WORLD_SIZE").c_str());
  std::fflush(stdout);
  return Trainer().Run();
}
