// Tests the built muster-trainer as its agent sees it: real processes, links, Gloo, checkpoints,
// and kills.

#include <signal.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gtest/gtest.h"
#include "proto/muster/v1alpha1/trainer_link.pb.h"
#include "trainer/engine/testing/rank_process.h"

namespace muster::trainer {
namespace {

using v1alpha1::FromTrainer;
using v1alpha1::ResumePoint;
using v1alpha1::ToTrainer;

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
  double first_loss = 0.0, loss = 0.0;  // of the first step and of the last
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
    return new Result{Tensors(folder, "step-000000030"), a.reports.front().loss(),
                      a.reports.back().loss()};
  }();
  return *result;
}

TEST(ProcessTest, TwoProcessesTrainAndLeaveACheckpoint) {
  EXPECT_GT(Undisturbed().tensors.size(), 100'000);
}

// A rank's process dies at each of the named places; the other goes on with a replacement, and the
// weights end byte for byte as if nothing had happened.
class KillTest : public ::testing::TestWithParam<std::string> {};

TEST_P(KillTest, AReplacedRankEndsWithTheWeightsOfAnUndisturbedRun) {
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

// Rank 1 dies when it has applied step 7, before it gives its half of the weights to rank 0: that
// has applied the step by then, or does so in the next round by a relayed decision. Ranks 2 and 3
// hold another copy.
TEST(ProcessTest, EveryAppliedStepIsReportedOnceThoughARoundBreaksInTheGatherAfterIt) {
  auto spec = Spec(Folder("gather"));
  spec.mutable_workers()->set_count(4);
  spec.mutable_trainer()->mutable_parallelism()->set_zero(1);
  spec.mutable_trainer()->mutable_parallelism()->set_shard(2);
  v1alpha1::Mesh mesh;
  mesh.set_data(2);
  mesh.set_shard(2);
  RankProcess a(spec), b(spec, "trainer.after_apply=kill@7"), c(spec), d(spec);
  const Ranks before = {&a, &b, &c, &d};
  Go(1, before, Prepare(1, before), Fresh(), mesh);
  EXPECT_EQ(b.End(kTimeoutMs)->signal, SIGKILL);
  RankProcess e(spec);
  const Ranks after = {&a, &e, &c, &d};
  const auto ready = Prepare(2, after);
  EXPECT_GE(ready[0].position().applied().step(), 6);
  ResumePoint resume = Live(ready);
  for (const auto& one : ready) *resume.add_slices() = one.position().slice();
  Go(2, after, ready, resume, mesh);
  Finish(after);
  std::vector<int64_t> steps, all;
  for (const auto& report : a.reports) steps.push_back(report.version().step());
  for (int64_t step = 1; step <= 30; ++step) all.push_back(step);
  EXPECT_EQ(steps, all);
}

// Returns a spec like `like` whose data are another file of the same length.
v1alpha1::TrainingJobSpec OnOtherData(const v1alpha1::TrainingJobSpec& like,
                                      const std::string& folder) {
  v1alpha1::TrainingJobSpec spec = Spec(folder);
  *spec.mutable_checkpoint() = like.checkpoint();
  const std::string path = spec.trainer().data().uri();
  std::string text = ReadFile(FileSystem(), path).value_or("");
  EXPECT_GT(text.size(), 20'000);
  text[20'000] = text[20'000] == 'x' ? 'y' : 'x';
  EXPECT_TRUE(WriteFileAtomically(FileSystem(), path, text).ok());
  return spec;
}

TEST(ProcessTest, RanksWhoseNodesHaveOtherDataAreRefusedBeforeTheFirstStep) {
  const auto spec = Spec(Folder("data"));
  RankProcess a(spec), b(OnOtherData(spec, Folder("other-data")));
  const auto ready = Prepare(1, {&a, &b});
  ToTrainer message;
  message.mutable_go()->mutable_round()->set_round(1);
  message.mutable_go()->set_endpoint(ready.front().endpoint());
  *message.mutable_go()->mutable_resume() = Fresh();
  for (RankProcess* rank : {&a, &b}) rank->Send(message);
  for (RankProcess* rank : {&a, &b}) {
    const auto finished = rank->Await(FromTrainer::kFinished).finished();
    EXPECT_FALSE(finished.succeeded());
    EXPECT_NE(finished.message().find("rank 1 and rank 0 do not have the same training data"),
              std::string::npos)
        << finished.message();
    EXPECT_EQ(rank->End(kTimeoutMs)->code, 2);
  }
}

// The state that lives is worth more than the rank that came with other data.
TEST(ProcessTest, ARankThatComesWithOtherDataDoesNotTrainAndTheOthersKeepTheirState) {
  const std::string folder = Folder("came");
  const auto spec = Spec(folder);
  RankProcess a(spec), b(spec, "trainer.after_vote=kill@7");
  Go(1, {&a, &b}, Prepare(1, {&a, &b}), Fresh());
  EXPECT_EQ(b.End(kTimeoutMs)->signal, SIGKILL);
  RankProcess other(OnOtherData(spec, Folder("came-other")));
  const auto ready = Prepare(2, {&a, &other});
  ToTrainer message;
  message.mutable_go()->mutable_round()->set_round(2);
  message.mutable_go()->set_endpoint(ready.front().endpoint());
  *message.mutable_go()->mutable_resume() = Live(ready);
  message.mutable_go()->mutable_resume()->set_next_attempt(2);
  for (RankProcess* rank : {&a, &other}) rank->Send(message);
  const std::string error = a.Await(FromTrainer::kJoined).joined().error();
  EXPECT_NE(error.find("do not have the same training data"), std::string::npos) << error;
  RankProcess c(spec);
  const auto again = Prepare(3, {&a, &c});
  EXPECT_TRUE(again[0].position().has_applied());
  Go(3, {&a, &c}, again, Live(again));
  Finish({&a, &c});
  EXPECT_EQ(Tensors(folder, "step-000000030"), Undisturbed().tensors);
}

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

class PrecisionTest : public testing::TestWithParam<const char*> {};

// Scales of FP8 are computed anew from what is multiplied, so no checkpoint holds any. The loss
// scale of FP16 is in it.
TEST_P(PrecisionTest, ARunIsResumedOnMoreRanksWithTheSameLosses) {
  const std::string precision = GetParam();
  auto spec = Spec(Folder(precision + "-whole"));
  spec.mutable_trainer()->mutable_train()->set_precision(precision);
  RankProcess whole(spec);
  Go(1, {&whole}, Prepare(1, {&whole}), Fresh());
  Finish({&whole});
  ASSERT_EQ(whole.reports.size(), 30);
  EXPECT_LT(whole.reports.back().loss(), 0.8 * whole.reports.front().loss());
  const std::string folder = Folder(precision + "-resumed");
  spec = Spec(folder);
  spec.mutable_trainer()->mutable_train()->set_precision(precision);
  {
    RankProcess a(spec);
    Go(1, {&a}, Prepare(1, {&a}), Fresh());
    a.Await(FromTrainer::kCheckpoint);  // started
    a.Await(FromTrainer::kCheckpoint);
    a.Kill();
  }
  RankProcess b(spec), c(spec);
  const auto ready = Prepare(2, {&b, &c});
  ASSERT_GE(ready[1].position().checkpoints_size(), 1);
  ResumePoint resume;
  resume.set_source(ResumePoint::CHECKPOINT);
  *resume.mutable_checkpoint() = ready[1].position().checkpoints(0);
  *resume.mutable_version() = resume.checkpoint().version();
  Go(2, {&b, &c}, ready, resume);
  Finish({&b, &c});
  ASSERT_FALSE(b.reports.empty());
  for (size_t i = 1; i <= b.reports.size(); ++i) {
    const v1alpha1::StepReport &got = b.reports[b.reports.size() - i],
                               &want = whole.reports[30 - i];
    EXPECT_EQ(got.loss(), want.loss()) << i;
    EXPECT_EQ(got.loss_scale(), want.loss_scale()) << i;
    EXPECT_EQ(got.has_loss_scale(), precision == "fp16");
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PrecisionTest, testing::Values("fp8", "fp16"));

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
TEST(ProcessTest, MovedDataAreAcceptedAndOtherDataAreAMismatch) {
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
            "the checkpoint was trained on other data: its training tokens differ from this run's");
}

// The deadline that it was started with would have it wait for the other rank far longer than this
// test does.
TEST(ProcessTest, AChangedStepDeadlineAppliesFromTheNextRound) {
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

// Returns why a process refuses to begin a run, after it has ended for that reason.
std::string WhyItCannotBegin(const v1alpha1::TrainingJobSpec& spec) {
  RankProcess rank(spec);
  const auto ready = Prepare(1, {&rank});
  ToTrainer go;
  go.mutable_go()->mutable_round()->set_round(1);
  go.mutable_go()->set_endpoint(ready[0].endpoint());
  *go.mutable_go()->mutable_resume() = Fresh();
  rank.Send(go);
  const auto finished = rank.Await(FromTrainer::kFinished).finished();
  EXPECT_FALSE(finished.succeeded());
  const auto exit = rank.End(kTimeoutMs);
  EXPECT_TRUE(exit.has_value() && exit->code == 2);
  return finished.message();
}

// The directory is a checkpoint of another run.
TEST(ProcessTest, ARunBeginsWithTheWeightsOfADirectoryAndGoesOnWithoutIt) {
  const double fresh = Undisturbed().first_loss;
  const std::string folder = Folder("tuned"), weights = folder + "/weights";
  auto spec = Spec(folder);
  spec.mutable_checkpoint()->set_uri(weights);
  {
    RankProcess a(spec);
    Go(1, {&a}, Prepare(1, {&a}), Fresh());
    Finish({&a});
  }
  spec.mutable_checkpoint()->set_uri(folder + "/checkpoints");
  spec.mutable_trainer()->mutable_model()->set_uri(weights + "/step-000000030");
  spec.mutable_trainer()->mutable_train()->set_steps(10);
  {
    RankProcess b(spec), c(spec);
    Go(1, {&b, &c}, Prepare(1, {&b, &c}), Fresh());
    Finish({&b, &c});
    ASSERT_EQ(b.reports.size(), 10);
    EXPECT_EQ(b.reports.front().version().step(), 1);
    EXPECT_LT(b.reports.front().loss(), 0.8 * fresh);
  }
  ASSERT_TRUE(RemoveAll(FileSystem(), weights).ok());
  spec.mutable_trainer()->mutable_train()->set_steps(12);
  {
    RankProcess d(spec);
    const auto ready = Prepare(2, {&d});
    ResumePoint resume;
    resume.set_source(ResumePoint::CHECKPOINT);
    *resume.mutable_checkpoint() = ready[0].position().checkpoints(0);
    *resume.mutable_version() = resume.checkpoint().version();
    Go(2, {&d}, ready, resume);
    Finish({&d});
  }
  spec.mutable_checkpoint()->set_uri(folder + "/others");
  EXPECT_TRUE(WhyItCannotBegin(spec).starts_with("trainer.model.uri: " + weights));
}

TEST(ProcessTest, WeightsOfAnotherVocabularyAreRefusedWithWhereOursComesFrom) {
  const std::string folder = Folder("vocabulary");
  auto spec = Spec(folder);
  v1alpha1::ModelSpec& model = *spec.mutable_trainer()->mutable_model();
  model.set_vocabulary(400);
  spec.mutable_trainer()->mutable_train()->set_steps(1);
  {
    RankProcess a(spec);
    Go(1, {&a}, Prepare(1, {&a}), Fresh());
    Finish({&a});
  }
  model.set_uri(folder + "/checkpoints/step-000000001");
  spec.mutable_checkpoint()->set_uri(folder + "/others");
  const std::string refusal = "trainer.model.uri: " + model.uri() +
                              "/config.json: it is another model: vocab_size is 400 there, ";
  model.set_vocabulary(500);
  EXPECT_EQ(WhyItCannotBegin(spec), refusal + "500 here (model.vocabulary)");
  model.set_vocabulary(0);
  EXPECT_EQ(WhyItCannotBegin(spec),
            refusal +
                "320 here (the tokenizer's, rounded up to a multiple of 64: "
                "model.vocabulary can set another)");
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

TEST(ProcessTest, BadInputIsReportedAndEndsWithCode2) {
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
  auto script = good;
  script.mutable_trainer()->clear_model();
  script.mutable_trainer()->mutable_model()->set_torch_script(folder + "/no.pt");
  bad["trainer.model.torchScript: " + folder + "/no.pt"] = script;
  const char* const precision = "train.precision: bf16 is no precision of a model of";
  bad[precision] = script;
  bad[precision].mutable_trainer()->mutable_train()->set_precision("bf16");
  const char* const fp8_script = "train.precision: fp8 is no precision of a model of";
  bad[fp8_script] = script;
  bad[fp8_script].mutable_trainer()->mutable_train()->set_precision("fp8");
  const char* const fp8 = "and train.microBatch x train.sequence is 2 x 20: sequence 24 would do";
  bad[fp8] = good;
  v1alpha1::TrainSpec& narrow = *bad[fp8].mutable_trainer()->mutable_train();
  narrow.set_precision("fp8");
  narrow.set_micro_batch(2);
  narrow.set_sequence(20);
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
