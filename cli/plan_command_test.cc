#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/exit_codes.h"
#include "base/files/files.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/flags/command_call.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr char kJob[] = R"(apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: llama}
spec:
  workers: {count: 8, gpus: 8}
  trainer:
    model: {preset: llama-2-13b, vocabulary: 32000}
    data: {uri: tokens.bin, format: Tokens}
    train: {steps: 1000, globalBatch: 1024, microBatch: 1, sequence: 4096, precision: bf16}
  checkpoint: {uri: out}
)";

constexpr char kCluster[] = R"(levels: [spine, leaf]
pools:
- {name: h100, nodes: 16, perDomain: [8, 4], gpus: 8, cpu: "192", memory: 2Ti, labels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}}
)";

std::string File(const std::string& name, const std::string& text) {
  const std::string path = absl::StrCat(std::getenv("TEST_TMPDIR"), "/", name);
  EXPECT_TRUE(WriteFileAtomically(FileSystem(), path, text).ok());
  return path;
}

CommandResult Plan(const std::string& job, std::vector<std::string> flags) {
  flags.insert(flags.begin(), File("job.yaml", job));
  return Call(&PlanMain, flags);
}

std::string With(const std::string& before, const std::string& after) {
  const std::string job = absl::StrReplaceAll(kJob, {{before, after}});
  EXPECT_NE(job, kJob) << before;
  return job;
}

TEST(PlanCommand, PrintsTheLayoutToPaste) {
  const CommandResult plan = Plan(kJob, {"--device", "A100-80GB"});
  EXPECT_EQ(plan.code, kExitOk) << plan.err;
  EXPECT_THAT(plan.err, IsEmpty());
  EXPECT_THAT(plan.out, StartsWith("llama: llama-2-13b, 13 billion parameters, on 64 x A100-80GB, "
                                   "8 in a worker\n"));
  EXPECT_THAT(plan.out, HasSubstr("  workers: {count: 8, gpus: 8}\n"
                                  "  trainer:\n"
                                  "    train: {microBatch: 1}\n"
                                  "    parallelism: {zero: 3, shard: 64}\n"));
  EXPECT_THAT(plan.out, HasSubstr("tokens/s, MFU "));
  EXPECT_THAT(plan.out, HasSubstr("All 1000 steps: 7.7 hours, 492 GPU hours, without saves"));
  EXPECT_THAT(plan.out, HasSubstr("The manifest's own layout (data 64, micro-batch 1) cannot run: "
                                  "weights, gradients and the optimizer's state do not fit."));
  EXPECT_THAT(plan.out, HasSubstr("microBatch: 2 in place of 1"));
  EXPECT_THAT(plan.out, HasSubstr("the nearest needs "));
}

// The printed layout can be run: its lines are put into the manifest, and the plan finds itself.
TEST(PlanCommand, ThePastedLayoutIsTheOneThatItFinds) {
  const std::string pasted =
      With("    data: {", "    parallelism: {zero: 3, shard: 64}\n    data: {");
  const CommandResult plan = Plan(pasted, {"--device", "A100-80GB"});
  EXPECT_EQ(plan.code, kExitOk) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("The manifest has this layout already."));
}

// Every class of time and memory adds up to the total.
TEST(PlanCommand, JsonHasEverything) {
  const CommandResult plan = Plan(kJob, {"--device", "H100", "--json"});
  ASSERT_EQ(plan.code, kExitOk) << plan.err;
  const auto json = ParseJson(plan.out);
  ASSERT_TRUE(json.ok()) << json.status();
  const Json& chosen = (*json)["plans"][0];
  double seconds = 0;
  for (const auto& [name, part] : chosen["seconds"].items()) {
    if (name != "total") seconds += part.get<double>();
  }
  EXPECT_NEAR(seconds, chosen["seconds"]["total"].get<double>(), 1e-6 * seconds);
  int64_t bytes = 0;
  for (const auto& [name, part] : chosen["memory"].items()) {
    if (name != "total" && name != "onHost") bytes += part.get<int64_t>();
  }
  EXPECT_EQ(bytes, chosen["memory"]["total"].get<int64_t>());
  EXPECT_LE(bytes, (*json)["deviceMemory"].get<int64_t>());
  EXPECT_NEAR(chosen["tokensPerSecond"].get<double>(), 1024 * 4096 / seconds, 1);
  for (const char* field : {"neighbours", "refused", "manifest", "considered", "parameters"}) {
    EXPECT_TRUE(json->contains(field)) << field;
  }
}

TEST(PlanCommand, AClusterFileSaysWhichGpusThereAre) {
  const std::string cluster = File("cluster.yaml", kCluster);
  const CommandResult plan = Plan(kJob, {"--cluster", cluster});
  EXPECT_EQ(plan.code, kExitOk) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("on 64 x H100, 8 in a worker"));
  const CommandResult all = Plan(kJob, {"--cluster", cluster, "--gpus", "128"});
  EXPECT_THAT(all.out, HasSubstr("workers: {count: 16, gpus: 8}"));
  const CommandResult more = Plan(kJob, {"--cluster", cluster, "--gpus", "256"});
  EXPECT_EQ(more.code, kExitBadInput);
  EXPECT_EQ(more.err, "muster: the cluster has 128 GPUs, and the job wants 256\n");
}

TEST(PlanCommand, AJobWithoutGpusIsPlannedForCpus) {
  const std::string small =
      absl::StrReplaceAll(kJob, {{"llama-2-13b, vocabulary: 32000", "gpt2-124m, vocabulary: 50304"},
                                 {"gpus: 8", "ranks: 2"},
                                 {"4096", "1024"}});
  const CommandResult cpu = Plan(small, {});
  EXPECT_EQ(cpu.code, kExitOk) << cpu.err;
  EXPECT_THAT(cpu.out, HasSubstr("on 16 ranks on CPUs, 2 in a worker"));
}

TEST(PlanCommand, AModelThatFitsNowhereIsNoSuccess) {
  const CommandResult plan =
      Plan(With("llama-2-13b", "llama-2-70b"), {"--device", "A100-40GB", "--gpus", "8"});
  EXPECT_EQ(plan.code, kExitFailed);
  EXPECT_THAT(plan.out, HasSubstr("There is no layout that could run. It would run on 64.\n"));
  EXPECT_THAT(plan.out, HasSubstr("weights, gradients and the optimizer's state do not fit"));
}

// docs/planner.md shows what is printed.
TEST(PlanCommand, TheExampleIsTheOneInTheDocument) {
  const CommandResult plan =
      Call(&PlanMain, {"examples/plan/llama-13b.yaml", "--device", "A100-80GB"});
  EXPECT_EQ(plan.code, kExitOk) << plan.err;
  const auto document = ReadFile(FileSystem(), "docs/planner.md");
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_THAT(*document, HasSubstr(plan.out));
  const CommandResult cluster =
      Call(&PlanMain, {"examples/plan/llama-13b.yaml", "--cluster", "examples/plan/cluster.yaml"});
  EXPECT_EQ(cluster.code, kExitOk) << cluster.err;
}

// A manifest whose layout is wrong is what the command is for.
TEST(PlanCommand, AWrongLayoutIsReplaced) {
  const CommandResult plan =
      Plan(With("    data: {", "    parallelism: {tensor: 3, zero: 0}\n    data: {"),
           {"--device", "H100"});
  EXPECT_EQ(plan.code, kExitOk) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("cannot run: "));
}

TEST(PlanCommand, RefusesBadInputWithASentence) {
  const struct {
    std::string job;
    std::vector<std::string> flags;
    std::string why;
  } refused[] = {
      {kJob, {}, "which GPUs? Give --device with one of A100-40GB, A100-80GB, H100,"},
      {kJob, {"--device", "T4"}, "there is no device 'T4' in the planner's table; there are A100"},
      {kJob, {"--device", "H100", "--gpus", "0"}, "--gpus: want a number from 1 to 1000000, not 0"},
      {kJob, {"--device", "H100", "--gpus", "-8"}, "--gpus: want a number"},
      {kJob, {"--device", "H100", "--gpus", "9223372036854775807"}, "--gpus: want a number"},
      {kJob, {"--device", "H100", "--gpus", "many"}, "--gpus needs a whole number, not 'many'"},
      {kJob, {"--device", "H100", "--gpus", "12"}, "12 ranks are no whole workers of 8 each"},
      {kJob, {"--device", "H100", "--oversubscription", "0"}, "--oversubscription: want"},
      {kJob, {"--device", "H100", "--oversubscription", "nan"}, "--oversubscription"},
      {kJob, {"--device", "H100", "--cluster", "/no/such"}, "/no/such"},
      {With("precision: bf16", "precision: fp8"),
       {"--device", "A100-80GB"},
       "the A100-80GB has no matrix products in the job's precision"},
      {With("preset: llama-2-13b, vocabulary: 32000", "vocabulary: 32000"),
       {"--device", "H100"},
       "give a preset, or all of layers"},
      {With("globalBatch: 1024", "globalBatch: -1"), {"--device", "H100"}, "globalBatch"},
      {"no: yaml: here", {"--device", "H100"}, "is no valid job"},
  };
  for (const auto& [job, flags, why] : refused) {
    const CommandResult plan = Plan(job, flags);
    EXPECT_EQ(plan.code, kExitBadInput) << why << plan.out;
    EXPECT_THAT(plan.out, IsEmpty()) << why;
    EXPECT_THAT(plan.err, StartsWith("muster: "));
    EXPECT_THAT(plan.err, HasSubstr(why));
  }
  EXPECT_EQ(Call(&PlanMain, {}).err, "muster: which manifest? muster plan FILE\n");
  EXPECT_EQ(Call(&PlanMain, {"/no/such/file.yaml", "--device", "H100"}).code, kExitBadInput);
}

}  // namespace
}  // namespace muster::cli
