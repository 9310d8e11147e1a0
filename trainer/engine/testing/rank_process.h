#ifndef MUSTER_TRAINER_ENGINE_TESTING_RANK_PROCESS_H_
#define MUSTER_TRAINER_ENGINE_TESTING_RANK_PROCESS_H_

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/files/files.h"
#include "base/net/link_frame.h"
#include "base/process/process.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/round.pb.h"
#include "proto/muster/v1alpha1/run_state.pb.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

// Runs the built muster-trainer as processes and gives them the orders of the operator and of their
// agents. A test that includes this has //trainer:muster-trainer among its data.
namespace muster::trainer {

// Bounds every wait for a process or for a message of one.
inline constexpr int kTimeoutMs = 60'000;

// Returns a new, empty folder of the test.
inline std::string Folder(const std::string& name) {
  const char* root = std::getenv("TEST_TMPDIR");
  const std::string folder = absl::StrCat(root == nullptr ? "/tmp" : root, "/", name);
  EXPECT_TRUE(RemoveAll(FileSystem(), folder).ok());
  EXPECT_TRUE(FileSystem().MakeDirectories(folder).ok());
  return folder;
}

// Returns a spec of 30 deterministic steps, saved every ten, whose text and checkpoints are in
// `folder`.
inline v1alpha1::TrainingJobSpec Spec(const std::string& folder) {
  std::string text;
  for (int i = 0; text.size() < 60'000; ++i) {
    absl::StrAppend(&text, "rank ", i % 7, " meets rank ", i % 5, " in round ", i % 11, ".\n");
  }
  EXPECT_TRUE(WriteFileAtomically(FileSystem(), folder + "/text.txt", text).ok());
  v1alpha1::TrainingJobSpec spec;
  v1alpha1::TrainerSpec& trainer = *spec.mutable_trainer();
  trainer.mutable_model()->set_preset("gpt2-nano");
  trainer.mutable_model()->set_dropout(0.1);
  trainer.mutable_data()->set_uri(folder + "/text.txt");
  trainer.mutable_data()->set_format("Text");
  trainer.mutable_train()->set_steps(30);
  trainer.mutable_train()->set_global_batch(8);
  trainer.mutable_train()->set_micro_batch(2);
  trainer.mutable_train()->set_sequence(32);
  trainer.mutable_train()->set_deterministic(true);
  trainer.mutable_train()->set_validate_every(15);
  trainer.mutable_train()->set_validate_batches(2);
  trainer.mutable_optimizer()->set_learning_rate(3e-3);
  trainer.mutable_optimizer()->set_warmup_steps(5);
  spec.mutable_checkpoint()->set_uri(folder + "/checkpoints");
  spec.mutable_checkpoint()->mutable_interval()->set_mode("Steps");
  spec.mutable_checkpoint()->mutable_interval()->set_steps(10);
  spec.mutable_elastic()->set_step_deadline("20s");
  return spec;
}

// One trainer process and the agent's end of its link.
class RankProcess {
 public:
  explicit RankProcess(const v1alpha1::TrainingJobSpec& spec, const std::string& failpoints = "") {
    int link[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link), 0);
    link_ = link[0];
    ProcessSpec process;
    process.argv = {"trainer/muster-trainer"};
    process.env = {"MUSTER_LINK_FD=3", "OMP_NUM_THREADS=1", "MUSTER_LOG_LEVEL=WARN",
                   "MUSTER_FAILPOINTS=" + failpoints};
    // The kit runs the trainer with the libraries of the machine's PyTorch, on a card of its
    // user's.
    for (const char* name : {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"}) {
      const char* const value = std::getenv(name);
      if (value != nullptr) process.env.push_back(absl::StrCat(name, "=", value));
    }
    process.fds = {{link[1], 3}, {STDERR_FILENO, STDERR_FILENO}};
    process.die_with_parent = true;
    auto launched = ProcessLauncher::Real().Launch(process);
    EXPECT_TRUE(launched.ok()) << launched.status();
    process_ = *std::move(launched);
    close(link[1]);
    v1alpha1::ToTrainer message;
    *message.mutable_configure()->mutable_spec() = spec;
    message.mutable_configure()->set_job("default/test");
    message.mutable_configure()->set_heartbeat_seconds(0.25);
    Send(message);
  }
  ~RankProcess() {
    Kill();
    if (link_ >= 0) close(link_);
  }

  void Send(const v1alpha1::ToTrainer& message) { EXPECT_TRUE(SendLinkFrame(link_, message).ok()); }
  void Kill() {
    if (!End(0)) (void)process_->Signal(SIGKILL);
    End(kTimeoutMs);
  }
  void Hangup() { close(std::exchange(link_, -1)); }
  // Returns its exit, waiting for it at most `timeout_ms`.
  std::optional<ExitStatus> End(int timeout_ms) {
    pollfd fd = {process_->poll_fd(), POLLIN, 0};
    if (fd.fd >= 0 && poll(&fd, 1, timeout_ms) <= 0) return std::nullopt;
    const auto exit = process_->Poll();
    return exit.ok() ? *exit : std::nullopt;
  }

  // Returns the next message of this kind; reports on the way are kept. Fails the test at the
  // time-out.
  v1alpha1::FromTrainer Await(v1alpha1::FromTrainer::KindCase kind) {
    while (true) {
      while (true) {
        const auto frame = decoder_.Next();
        if (!frame.ok() || !frame->has_value()) break;
        v1alpha1::FromTrainer message;
        EXPECT_TRUE(message.ParseFromString(**frame));
        for (const auto& step : message.steps().steps()) reports.push_back(step);
        if (message.kind_case() == kind) return message;
      }
      pollfd fd = {link_, POLLIN, 0};
      char bytes[4096];
      if (poll(&fd, 1, kTimeoutMs) <= 0) break;
      const ssize_t n = read(link_, bytes, sizeof(bytes));
      if (n <= 0) break;
      decoder_.Append({bytes, static_cast<size_t>(n)});
    }
    ADD_FAILURE() << "no message of kind " << kind;
    return {};
  }

  std::vector<v1alpha1::StepReport> reports;

 private:
  int link_ = -1;
  std::unique_ptr<Process> process_;
  LinkFrameDecoder decoder_;
};

// The processes of a round, by rank.
using Ranks = std::vector<RankProcess*>;

// Prepares a round and returns the ranks' answers.
inline std::vector<v1alpha1::RankReady> Prepare(int64_t round, const Ranks& ranks) {
  for (size_t r = 0; r < ranks.size(); ++r) {
    v1alpha1::ToTrainer message;
    message.mutable_prepare()->mutable_round()->set_round(round);
    message.mutable_prepare()->set_rank(static_cast<int>(r));
    message.mutable_prepare()->set_secret(absl::StrCat("secret of round ", round));
    message.mutable_prepare()->set_world_size(static_cast<int>(ranks.size()));
    ranks[r]->Send(message);
  }
  std::vector<v1alpha1::RankReady> ready;
  for (RankProcess* rank : ranks) {
    ready.push_back(rank->Await(v1alpha1::FromTrainer::kReady).ready().ready());
  }
  return ready;
}

// Tells the ranks where they go on from, and waits until all have joined.
inline void Go(int64_t round, const Ranks& ranks, const std::vector<v1alpha1::RankReady>& ready,
               v1alpha1::ResumePoint resume, const v1alpha1::Mesh& mesh = {}) {
  resume.set_next_attempt(round);
  v1alpha1::ToTrainer message;
  message.mutable_go()->mutable_round()->set_round(round);
  message.mutable_go()->set_endpoint(ready.front().endpoint());
  *message.mutable_go()->mutable_resume() = resume;
  if (mesh.shard() > 1) *message.mutable_go()->mutable_mesh() = mesh;
  for (RankProcess* rank : ranks) rank->Send(message);
  for (RankProcess* rank : ranks) {
    EXPECT_EQ(rank->Await(v1alpha1::FromTrainer::kJoined).joined().error(), "");
  }
}

// Returns the resume point that the operator would choose for these positions.
inline v1alpha1::ResumePoint Live(const std::vector<v1alpha1::RankReady>& ready) {
  const v1alpha1::RankPosition* ahead = nullptr;
  for (const auto& one : ready) {
    const auto& position = one.position();
    if (position.has_applied() &&
        (ahead == nullptr || position.applied().step() > ahead->applied().step())) {
      ahead = &position;
    }
  }
  v1alpha1::ResumePoint resume;
  resume.set_source(v1alpha1::ResumePoint::LIVE);
  *resume.mutable_version() = ahead->applied();
  if (ahead->decisions_size() > 0) *resume.mutable_relay() = ahead->decisions(0);
  resume.set_donor(-1);
  for (int r = 0; r < static_cast<int>(ready.size()); ++r) {
    const auto& position = ready[static_cast<size_t>(r)].position();
    const bool usable =
        position.has_applied() && (position.applied().step() == ahead->applied().step() ||
                                   (position.sealed().step() == ahead->applied().step()));
    if (!usable) resume.add_receivers(r);
    if (usable && resume.donor() < 0) resume.set_donor(r);
  }
  return resume;
}

inline v1alpha1::ResumePoint Fresh() {
  v1alpha1::ResumePoint resume;
  resume.set_source(v1alpha1::ResumePoint::FRESH);
  return resume;
}

// Waits until every rank has trained to the end.
inline void Finish(const Ranks& ranks) {
  for (RankProcess* rank : ranks) {
    const auto finished = rank->Await(v1alpha1::FromTrainer::kFinished).finished();
    EXPECT_TRUE(finished.succeeded()) << finished.message();
  }
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_TESTING_RANK_PROCESS_H_
