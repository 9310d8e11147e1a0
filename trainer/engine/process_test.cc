// Tests the built muster-trainer as its agent sees it: real processes, links, Gloo, checkpoints,
// and kills.

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files.h"
#include "base/json.h"
#include "base/link_frame.h"
#include "base/process.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"

namespace muster::trainer {
namespace {

using v1alpha1::FromTrainer;
using v1alpha1::ResumePoint;
using v1alpha1::ToTrainer;

constexpr int kTimeoutMs = 60'000;

std::string Folder(const std::string& name) {
  const char* root = std::getenv("TEST_TMPDIR");
  const std::string folder = absl::StrCat(root == nullptr ? "/tmp" : root, "/", name);
  EXPECT_TRUE(RemoveAll(FileSystem(), folder).ok());
  EXPECT_TRUE(FileSystem().MakeDirectories(folder).ok());
  return folder;
}

v1alpha1::TrainingJobSpec Spec(const std::string& folder) {
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
    process.fds = {{link[1], 3}, {STDERR_FILENO, STDERR_FILENO}};
    process.die_with_parent = true;
    auto launched = ProcessLauncher::Real().Launch(process);
    EXPECT_TRUE(launched.ok()) << launched.status();
    process_ = *std::move(launched);
    close(link[1]);
    ToTrainer message;
    *message.mutable_configure()->mutable_spec() = spec;
    message.mutable_configure()->set_job("default/test");
    message.mutable_configure()->set_heartbeat_seconds(0.25);
    Send(message);
  }
  ~RankProcess() {
    Kill();
    if (link_ >= 0) close(link_);
  }

  void Send(const ToTrainer& message) { EXPECT_TRUE(SendLinkFrame(link_, message).ok()); }
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
  FromTrainer Await(FromTrainer::KindCase kind) {
    while (true) {
      while (true) {
        const auto frame = decoder_.Next();
        if (!frame.ok() || !frame->has_value()) break;
        FromTrainer message;
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

using Ranks = std::vector<RankProcess*>;

std::vector<v1alpha1::RankReady> Prepare(int64_t round, const Ranks& ranks) {
  for (size_t r = 0; r < ranks.size(); ++r) {
    ToTrainer message;
    message.mutable_prepare()->mutable_round()->set_round(round);
    message.mutable_prepare()->set_rank(static_cast<int>(r));
    message.mutable_prepare()->set_world_size(static_cast<int>(ranks.size()));
    ranks[r]->Send(message);
  }
  std::vector<v1alpha1::RankReady> ready;
  for (RankProcess* rank : ranks) {
    ready.push_back(rank->Await(FromTrainer::kReady).ready().ready());
  }
  return ready;
}

void Go(int64_t round, const Ranks& ranks, const std::vector<v1alpha1::RankReady>& ready,
        ResumePoint resume) {
  resume.set_next_attempt(round);
  ToTrainer message;
  message.mutable_go()->mutable_round()->set_round(round);
  message.mutable_go()->set_endpoint(ready.front().endpoint());
  *message.mutable_go()->mutable_resume() = resume;
  for (RankProcess* rank : ranks) rank->Send(message);
  for (RankProcess* rank : ranks) {
    EXPECT_EQ(rank->Await(FromTrainer::kJoined).joined().error(), "");
  }
}

// Returns the resume point that the operator would choose for these positions.
ResumePoint Live(const std::vector<v1alpha1::RankReady>& ready) {
  const v1alpha1::RankPosition* ahead = nullptr;
  for (const auto& one : ready) {
    const auto& position = one.position();
    if (position.has_applied() &&
        (ahead == nullptr || position.applied().step() > ahead->applied().step())) {
      ahead = &position;
    }
  }
  ResumePoint resume;
  resume.set_source(ResumePoint::LIVE);
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

ResumePoint Fresh() {
  ResumePoint resume;
  resume.set_source(ResumePoint::FRESH);
  return resume;
}

void Finish(const Ranks& ranks) {
  for (RankProcess* rank : ranks) {
    const auto finished = rank->Await(FromTrainer::kFinished).finished();
    EXPECT_TRUE(finished.succeeded()) << finished.message();
  }
}

// Returns the tensor files of a checkpoint, however many there are, as one text.
std::string Tensors(const std::string& folder, const std::string& step) {
  std::string all;
  const std::string directory = folder + "/checkpoints/" + step;
  const auto entries = FileSystem().List(directory);
  EXPECT_TRUE(entries.ok()) << entries.status();
  for (const DirectoryEntry& entry : entries.value_or(std::vector<DirectoryEntry>())) {
    if (entry.name.ends_with(".safetensors")) {
      all += ReadFile(FileSystem(), JoinPath(directory, entry.name)).value_or("unreadable");
    }
  }
  return all;
}

struct Result {
  std::string tensors;
  double loss = 0.0;  // of the last step
};

// Returns the result of an undisturbed run of two ranks, trained only once.
const Result& Undisturbed() {
  static const Result* const result = [] {
    const std::string folder = Folder("undisturbed");
    const auto spec = Spec(folder);
    RankProcess a(spec), b(spec);
    const Ranks ranks = {&a, &b};
    Go(1, ranks, Prepare(1, ranks), Fresh());
    Finish(ranks);
    EXPECT_EQ(a.reports.size(), 30);
    EXPECT_LT(a.reports.back().loss(), 0.8 * a.reports.front().loss());
    EXPECT_TRUE(a.reports.back().has_validation_loss());
    EXPECT_TRUE(b.reports.empty());
    return new Result{Tensors(folder, "step-000000030"), a.reports.back().loss()};
  }();
  return *result;
}

TEST(ProcessTest, TwoProcessesTrainAndLeaveACheckpoint) {
  EXPECT_GT(Undisturbed().tensors.size(), 100'000);
}

// A rank's process dies at each of the named places; the other goes on with a replacement, and the
// weights end byte for byte as if nothing had happened.
class KillTest : public ::testing::TestWithParam<std::string> {};

TEST_P(KillTest, WeightsEndAsUndisturbed) {
  const std::string folder = Folder("killed");
  const auto spec = Spec(folder);
  RankProcess a(spec), b(spec, GetParam() + "=kill@7");
  Go(1, {&a, &b}, Prepare(1, {&a, &b}), Fresh());
  EXPECT_EQ(b.End(kTimeoutMs)->signal, SIGKILL);
  RankProcess c(spec);
  const auto ready = Prepare(2, {&a, &c});
  EXPECT_TRUE(ready[0].position().has_applied());
  Go(2, {&a, &c}, ready, Live(ready));
  Finish({&a, &c});
  EXPECT_EQ(Tensors(folder, "step-000000030"), Undisturbed().tensors);
}

INSTANTIATE_TEST_SUITE_P(Places, KillTest,
                         ::testing::Values("trainer.before_vote", "trainer.after_vote_sent",
                                           "trainer.after_vote", "trainer.mid_apply",
                                           "trainer.after_apply"),
                         [](const auto& info) { return info.param.substr(8); });

TEST(ProcessTest, ACheckpointIsResumedOnMoreRanksWithTheSameWeights) {
  const std::string folder = Folder("resumed");
  const auto spec = Spec(folder);
  {
    RankProcess a(spec);
    Go(1, {&a}, Prepare(1, {&a}), Fresh());
    a.Await(FromTrainer::kCheckpoint);  // started
    const auto written = a.Await(FromTrainer::kCheckpoint).checkpoint();
    EXPECT_EQ(written.phase(), v1alpha1::CheckpointReport::WRITTEN) << written.error();
    a.Kill();
  }
  RankProcess b(spec), c(spec), d(spec);
  const Ranks ranks = {&b, &c, &d};
  const auto ready = Prepare(2, ranks);
  ASSERT_GE(ready[2].position().checkpoints_size(), 1);
  ResumePoint resume;
  resume.set_source(ResumePoint::CHECKPOINT);
  *resume.mutable_checkpoint() = ready[2].position().checkpoints(0);
  *resume.mutable_version() = resume.checkpoint().version();
  Go(2, ranks, ready, resume);
  Finish(ranks);
  EXPECT_EQ(ListCheckpoints(FileSystem(), folder + "/checkpoints")->front().step, 30);
  // Three writers divide the tensors differently, so the files cannot be compared; the loss of the
  // last step stands for the weights before it.
  EXPECT_EQ(b.reports.back().loss(), Undisturbed().loss);
}

int64_t DataPosition(const std::string& folder, const std::string& step) {
  const auto text = ReadFile(FileSystem(), folder + "/checkpoints/" + step + "/manifest.json");
  EXPECT_TRUE(text.ok()) << text.status();
  const auto json = ParseJson(text.value_or("{}"));
  return json.ok() ? json->at("run").at("data_position").get<int64_t>() : -1;
}

TEST(ProcessTest, AResumeWithAnotherGlobalBatchGoesOnInTheDataWhereTheCheckpointSays) {
  const std::string folder = Folder("other-batch");
  auto spec = Spec(folder);
  spec.mutable_trainer()->mutable_train()->set_steps(10);
  {
    RankProcess a(spec);
    Go(1, {&a}, Prepare(1, {&a}), Fresh());
    Finish({&a});
  }
  EXPECT_EQ(DataPosition(folder, "step-000000010"), 10 * 8);
  spec.mutable_trainer()->mutable_train()->set_steps(12);
  spec.mutable_trainer()->mutable_train()->set_global_batch(12);
  RankProcess b(spec), c(spec);
  const auto ready = Prepare(2, {&b, &c});
  ResumePoint resume;
  resume.set_source(ResumePoint::CHECKPOINT);
  *resume.mutable_checkpoint() = ready[0].position().checkpoints(0);
  *resume.mutable_version() = resume.checkpoint().version();
  Go(2, {&b, &c}, ready, resume);
  Finish({&b, &c});
  EXPECT_EQ(DataPosition(folder, "step-000000012"), 10 * 8 + 2 * 12);
}

// A job that is suspended, changed and resumed.
TEST(ProcessTest, DataThatOnlyMovedAreGoneOnWithAndOtherDataAreAMismatch) {
  const std::string folder = Folder("moved");
  auto spec = Spec(folder);
  spec.mutable_trainer()->mutable_train()->set_steps(10);
  {
    RankProcess a(spec);
    Go(1, {&a}, Prepare(1, {&a}), Fresh());
    Finish({&a});
  }
  const std::string text = ReadFile(FileSystem(), folder + "/text.txt").value();
  const auto mismatch = [&](const std::string& contents) {
    EXPECT_TRUE(WriteFileAtomically(FileSystem(), folder + "/moved.txt", contents).ok());
    spec.mutable_trainer()->mutable_data()->set_uri(folder + "/moved.txt");
    RankProcess resumed(spec);
    const auto ready = Prepare(2, {&resumed});
    EXPECT_EQ(ready[0].position().checkpoints_size(), 1);
    return ready[0].position().checkpoints(0).mismatch();
  };
  EXPECT_EQ(mismatch(text), "");
  EXPECT_EQ(mismatch("x" + text.substr(1)),
            "the checkpoint was trained on other data: the training tokens are not those of then");
}

// The deadline that it was started with would have it wait for the other rank far longer than this
// test does.
TEST(ProcessTest, AChangedStepDeadlineIsThatOfTheNextRound) {
  auto spec = Spec(Folder("deadline"));
  spec.mutable_elastic()->set_step_deadline("10m");
  RankProcess alone(spec);
  ToTrainer message;
  message.mutable_prepare()->mutable_round()->set_round(1);
  message.mutable_prepare()->set_world_size(2);
  spec.mutable_elastic()->set_step_deadline("1s");
  *message.mutable_prepare()->mutable_spec() = spec;
  alone.Send(message);
  const auto ready = alone.Await(FromTrainer::kReady).ready().ready();
  message.mutable_go()->mutable_round()->set_round(1);
  message.mutable_go()->set_endpoint(ready.endpoint());
  *message.mutable_go()->mutable_resume() = Fresh();
  alone.Send(message);
  EXPECT_NE(alone.Await(FromTrainer::kJoined).joined().error(), "");
}

TEST(ProcessTest, TheEndOfTheLinkEndsTheProcess) {
  const auto spec = Spec(Folder("orphan"));
  RankProcess holding(spec), stepping(spec);
  holding.Await(FromTrainer::kHello);
  Go(1, {&stepping}, Prepare(1, {&stepping}), Fresh());
  holding.Hangup();
  stepping.Hangup();
  EXPECT_TRUE(holding.End(10'000).has_value());
  EXPECT_TRUE(stepping.End(10'000).has_value());
}

TEST(ProcessTest, BadInputIsSaidAndEndsWithCode2) {
  const std::string folder = Folder("bad");
  const auto good = Spec(folder);
  std::map<std::string, v1alpha1::TrainingJobSpec> bad;
  bad["nothing.txt"] = good;
  bad["nothing.txt"].mutable_trainer()->mutable_data()->set_uri(folder + "/nothing.txt");
  bad["longer than the model's"] = good;
  bad["longer than the model's"].mutable_trainer()->mutable_train()->set_sequence(1024);
  const char* const memory = "not enough memory for the model";
  bad[memory] = good;
  bad[memory].mutable_trainer()->mutable_model()->set_width(1 << 20);
  for (const auto& [message, spec] : bad) {
    RankProcess rank(spec);
    const auto finished = rank.Await(FromTrainer::kFinished).finished();
    EXPECT_FALSE(finished.succeeded());
    EXPECT_NE(finished.message().find(message), std::string::npos) << finished.message();
    const auto exit = rank.End(kTimeoutMs);
    ASSERT_TRUE(exit.has_value());
    EXPECT_EQ(exit->code, 2);
  }
}

}  // namespace
}  // namespace muster::trainer
