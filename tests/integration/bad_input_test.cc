// Tests input that cannot be trained on: the exit code and message, that nothing is left running,
// and that none of the user's files is changed.

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/testing/patience.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/local_run.h"

namespace muster::tests {
namespace {

using ::testing::HasSubstr;

constexpr char kManifest[] = R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: small}
spec:
  workers: {count: 2, ranks: 1}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: $FOLDER/text.txt, format: Text, tokenizer: {kind: Byte}}
    train: {steps: 10, globalBatch: 4, microBatch: 2, sequence: 64}
  checkpoint: {uri: $FOLDER/checkpoints}
)";

std::string GoodText() {
  std::string text;
  while (text.size() < 20'000)
    absl::StrAppend(&text, "Words enough to train on, number ", text.size(), ".\n");
  return text;
}

// Runs a job on `text` in a fresh folder to its end and returns its output.
std::string RunToFailure(const std::string& name, const std::string& text,
                         const std::string& manifest, int want_code) {
  const std::string folder = FreshFolder(name);
  EXPECT_TRUE(WriteFileAtomically(FileSystem(), folder + "/text.txt", text).ok());
  LocalRun run(folder, "small", manifest);
  EXPECT_TRUE(run.Start().ok());
  const auto end = run.WaitForEnd(kPatience);
  EXPECT_TRUE(end.ok()) << end.status();
  const std::string output = run.Output();
  if (end.ok()) {
    EXPECT_EQ(end->code, want_code) << output;
  }
  EXPECT_TRUE(run.Agents().empty()) << "agents are left behind";
  EXPECT_EQ(run.last_step(), 0);
  return output;
}

TEST(BadInputTest, MalformedYamlIsRefusedWithItsLine) {
  EXPECT_THAT(RunToFailure("yaml", GoodText(), "apiVersion: [muster\nkind: {", kExitBadInput),
              HasSubstr("manifest.yaml:"));
}

TEST(BadInputTest, ABinaryFileIsNotText) {
  EXPECT_THAT(RunToFailure("binary", GoodText() + std::string("\xff\xfe\x00\x01", 4), kManifest,
                           kExitBadInput),
              HasSubstr("text.txt: not UTF-8 text"));
}

TEST(BadInputTest, AnEmptyCorpus) {
  EXPECT_THAT(RunToFailure("empty", "", kManifest, kExitBadInput), HasSubstr("text.txt: is empty"));
}

TEST(BadInputTest, ACorpusShorterThanOneSequence) {
  EXPECT_THAT(RunToFailure("short", "only this", kManifest, kExitBadInput),
              HasSubstr("tokens are too few: one sequence of 64 needs"));
}

TEST(BadInputTest, NotEnoughMemoryIsReportedBeforeTheFirstStep) {
  const std::string manifest =
      absl::StrReplaceAll(kManifest, {{"gpt2-nano", "gpt2-1558m"},
                                      {"globalBatch: 4, microBatch: 2, sequence: 64",
                                       "globalBatch: 8192, microBatch: 4096, sequence: 1024"}});
  const std::string output = RunToFailure("memory", GoodText(), manifest, kExitBadInput);
  EXPECT_THAT(output, HasSubstr("not enough memory for the model: "));
  EXPECT_THAT(output, HasSubstr("are needed by"));
  EXPECT_THAT(output, HasSubstr("are available on this machine; each rank needs "));
}

TEST(BadInputTest, ACheckpointUriThatIsAFileIsFoundBeforeTheFirstStep) {
  const std::string manifest =
      absl::StrReplaceAll(kManifest, {{"$FOLDER/checkpoints", "$FOLDER/text.txt"}});
  EXPECT_THAT(RunToFailure("uri-is-a-file", GoodText(), manifest, kExitBadInput),
              HasSubstr("text.txt: is a file, not a directory"));
}

TEST(BadInputTest, WeightsToStartFromThatAreNotThereAreFoundBeforeTheFirstStep) {
  const std::string manifest = absl::StrReplaceAll(
      kManifest, {{"{preset: gpt2-nano}", "{preset: gpt2-nano, uri: $FOLDER/no-weights}"}});
  const std::string output = RunToFailure("weights", GoodText(), manifest, kExitBadInput);
  EXPECT_THAT(output, HasSubstr("trainer.model.uri: "));
  EXPECT_THAT(output, HasSubstr("/no-weights"));
}

TEST(BadInputTest, AnotherJobsCheckpointsAreRefusedAndLeftAsTheyWere) {
  const std::string folder = FreshFolder("claimed");
  EXPECT_TRUE(WriteFileAtomically(FileSystem(), folder + "/text.txt", GoodText()).ok());
  {
    LocalRun first(folder, "small", kManifest);
    EXPECT_TRUE(first.Start().ok());
    const auto end = first.WaitForEnd(kPatience);
    EXPECT_TRUE(end.ok() && end->code == kExitOk) << first.Output();
  }
  const auto before = NewestTensors(folder + "/checkpoints");
  LocalRun second(folder, "other",
                  absl::StrReplaceAll(kManifest, {{"name: small", "name: other"}}));
  EXPECT_TRUE(second.Start().ok());
  const auto end = second.WaitForEnd(kPatience);
  EXPECT_TRUE(end.ok()) << end.status();
  if (end.ok()) {
    EXPECT_EQ(end->code, kExitBadInput) << second.Output();
  }
  EXPECT_TRUE(second.Agents().empty()) << "agents are left behind";
  const auto after = NewestTensors(folder + "/checkpoints");
  EXPECT_TRUE(before.ok() && after.ok() && *before == *after) << "the checkpoint was changed";
  EXPECT_THAT(second.Output(), HasSubstr("holds the checkpoints of job default/small"));
}

}  // namespace
}  // namespace muster::tests
