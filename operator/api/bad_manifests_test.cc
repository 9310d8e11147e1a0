#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "operator/api/bad_manifest_fixture.h"

// Tests manifests that are no TrainingJob at all, and fields of a wrong name, type or range.

namespace muster::control {
namespace {

TEST_P(BadManifest, SaysWhatIsWrong) {
  const ManifestCase& c = GetParam();
  ASSERT_TRUE(absl::StrContains(kGoodManifest, c.from));
  const std::string from = c.from;
  EXPECT_EQ(
      ManifestErrors(from.empty() ? c.to : absl::StrReplaceAll(kGoodManifest, {{from, c.to}})),
      c.errors);
}

TEST(GoodManifest, HasNoErrors) { EXPECT_EQ(ManifestErrors(kGoodManifest), ""); }

const ManifestCase kNamesAndTypes[] = {
    {"WrongApiVersion", "muster.dev/v1alpha1", "muster.dev/v1",
     "job.yaml:1: apiVersion: want muster.dev/v1alpha1, got the string \"muster.dev/v1\"\n"},
    {"NoApiVersion", "apiVersion: muster.dev/v1alpha1\n", "",
     "job.yaml:1: apiVersion: is required and missing; want muster.dev/v1alpha1\n"},
    {"WrongKind", "kind: TrainingJob", "kind: Job",
     "job.yaml:2: kind: want TrainingJob, got the string \"Job\"\n"},
    {"UnknownTopField", "spec:", "extra: 1\nspec:", "job.yaml:4: extra: unknown field\n"},
    {"NoName", "{name: job}", "{}", "job.yaml:3: metadata.name: is required and missing\n"},
    {"NameWithCapitals", "{name: job}", "{name: Job_1}",
     "job.yaml:3: metadata.name: a job's name is at most 48 characters of a-z, 0-9 and -, begins "
     "with a letter and ends with a letter or digit, because its pods are named after it\n"},
    {"NameTooLong", "{name: job}", "{name: a23456789-123456789-123456789-123456789-123456789}",
     "job.yaml:3: metadata.name: a job's name is at most 48 characters of a-z, 0-9 and -, begins "
     "with a letter and ends with a letter or digit, because its pods are named after it\n"},
    {"NameIsNumber", "{name: job}", "{name: 12}",
     "job.yaml:3: metadata.name: want a string, got 12\n"},
    {"LabelIsNumber", "{name: job}", "{name: job, labels: {a/b: 1, c: d}}",
     "job.yaml:3: metadata.labels[\"a/b\"]: want a string, got 1\n"},
    {"MetadataMisspelt", "{name: job}", "{name: job, lables: {a: b}}",
     "job.yaml:3: metadata.lables: unknown field; did you mean labels?\n"},
    {"MetadataIsList", "{name: job}", "[job]",
     "job.yaml:3: metadata: want an object, got a list\n"},
    {"SpecIsString", "spec:", "status: {}\nspec: x\nold:",
     "job.yaml:5: spec: want an object, got the string \"x\"\n"
     "job.yaml:6: old: unknown field\n"},
    {"UnknownFieldNear", "{count: 2}", "{cuont: 2}",
     "job.yaml:5: spec.workers.cuont: unknown field; did you mean count?\n"},
    {"UnknownFieldFar", "{count: 2}", "{count: 2, gpuMemory: 80}",
     "job.yaml:5: spec.workers.gpuMemory: unknown field; the fields here are count, min, max, "
     "gpus, ranks, rdma, sharedMemory and spares\n"},
    {"WrongCase", "globalBatch", "global_batch",
     "job.yaml:9: spec.trainer.train.global_batch: unknown field; did you mean globalBatch?\n"},
    {"StringForInteger", "steps: 100", "steps: \"100\"",
     "job.yaml:9: spec.trainer.train.steps: want an integer, got the string \"100\"\n"},
    {"FractionForInteger", "steps: 100", "steps: 1.5",
     "job.yaml:9: spec.trainer.train.steps: want an integer, got 1.5\n"},
    {"IntegerBeyond32Bits", "count: 2", "count: 4294967298",
     "job.yaml:5: spec.workers.count: want an integer of 32 bits, got 4294967298\n"},
    {"IntegerBeyond64Bits", "steps: 100", "steps: 99999999999999999999",
     "job.yaml:9: spec.trainer.train.steps: kubectl reads 99999999999999999999 as 1e+20, YAML 1.2 "
     "as "
     "text; write 1e+20 or \"99999999999999999999\"\n"},
    {"OctalForInteger", "steps: 100", "steps: 0100",
     "job.yaml:9: spec.trainer.train.steps: kubectl reads 0100 as 64, YAML 1.2 as text; write 64 "
     "or "
     "\"0100\"\n"},
    {"StringForBool", "  checkpoint:", "  suspend: yes\n  checkpoint:",
     "job.yaml:11: spec.suspend: kubectl reads yes as true, YAML 1.2 as text; write true or "
     "\"yes\"\n"},
    {"StringForNumber", "{name: adamw}", "{learningRate: 3e-4x}",
     "job.yaml:10: spec.trainer.optimizer.learningRate: want a number, got the string \"3e-4x\"\n"},
    {"NotANumber", "{name: adamw}", "{learningRate: .nan}",
     "job.yaml:10: spec.trainer.optimizer.learningRate: want a number, got the string \".nan\"\n"},
    {"NumberForString", "{uri: out}", "{uri: 7}",
     "job.yaml:11: spec.checkpoint.uri: want a string, got 7\n"},
    {"ListForObject", "{count: 2}", "[2]",
     "job.yaml:5: spec.workers: want an object, got a list\n"},
    {"ObjectForScalar", "steps: 100", "steps: {a: 1}",
     "job.yaml:9: spec.trainer.train.steps: want an integer, got an object\n"},
    {"ObjectLeftEmpty", "trainer:", "trainer: x\n  other:",
     "job.yaml:6: spec.trainer: want an object, got the string \"x\"\n"
     "job.yaml:7: spec.other: unknown field; the fields here are workers, trainer, template, "
     "checkpoint, failurePolicy, elastic, suspend, activeDeadline, ttlSecondsAfterFinished, "
     "successPolicy, managedBy, queue, priorityClassName, topology, alerts and spot\n"},
};

const ManifestCase kRanges[] = {
    {"CountZero", "count: 2", "count: 0", "job.yaml:5: spec.workers.count: is 0; want 1 to 5000\n"},
    {"CountTooLarge", "count: 2", "count: 5001",
     "job.yaml:5: spec.workers.count: is 5001; want 1 to 5000\n"},
    {"UnknownPreset", "gpt2-nano", "gpt2-tiny",
     "job.yaml:7: spec.trainer.model.preset: want gpt2-nano, gpt2-micro, gpt2-mini, gpt2-124m, "
     "gpt2-355m, gpt2-774m, gpt2-1558m, llama-nano, llama-micro, llama-7b, llama-13b, llama-33b, "
     "llama-65b, llama-2-7b, llama-2-13b, llama-2-70b, llama-3-8b, llama-3-70b, llama-3-405b, "
     "llama-3.2-1b, llama-3.2-3b, bloom-nano, bloom-micro, bloom-560m, bloom-1b1, bloom-1b7, "
     "bloom-3b, bloom-7b1 or bloom-176b, got the string \"gpt2-tiny\"\n"},
    {"UnknownFamily", "preset: gpt2-nano",
     "family: gpt3, layers: 1, heads: 1, width: 8, positions: 256",
     "job.yaml:7: spec.trainer.model.family: want gpt2, llama or bloom, got the string \"gpt3\"\n"},
    {"DropoutOne", "preset: gpt2-nano", "preset: gpt2-nano, dropout: 1",
     "job.yaml:7: spec.trainer.model.dropout: is 1; want at least 0 and less than 1\n"},
    {"SpotFractionAboveOne", "{count: 2}", "{count: 2}\n  spot: {maxFraction: 1.5}",
     "job.yaml:6: spec.spot.maxFraction: is 1.5; want 0 to 1\n"},
    {"SpotFloorNegative", "{count: 2}", "{count: 2}\n  spot: {onDemandFloor: -1}",
     "job.yaml:6: spec.spot.onDemandFloor: is -1; want 0 to 5000\n"},
    {"ValidationTooLarge", "uri: corpus.txt", "uri: corpus.txt, validation: 0.6",
     "job.yaml:8: spec.trainer.data.validation: is 0.6; want 0 to 0.5\n"},
    {"LearningRateZero", "{name: adamw}", "{learningRate: 0}",
     "job.yaml:10: spec.trainer.optimizer.learningRate: is 0; want more than 0 and at most 100\n"},
    {"NegativeSeed", "steps: 100", "steps: 100, seed: -1",
     "job.yaml:9: spec.trainer.train.seed: is -1; want 0 to 9007199254740991\n"},
    {"UnknownFormat", "uri: corpus.txt", "uri: corpus.txt, format: text",
     "job.yaml:8: spec.trainer.data.format: want Text, Bytes or Tokens, got the string \"text\"\n"},
    {"UnknownOptimizer", "name: adamw", "name: adam",
     "job.yaml:10: spec.trainer.optimizer.name: want adamw, lamb, lion, muon or sgd, got the "
     "string "
     "\"adam\"\n"},
    {"EmptyUri", "uri: corpus.txt", "uri: ''",
     "job.yaml:8: spec.trainer.data.uri: must not be empty\n"},
    {"SharedMemoryZero", "{count: 2}", "{count: 2, sharedMemory: 0Gi}",
     "job.yaml:5: spec.workers.sharedMemory: want text like "
     "^[1-9][0-9]*(k|M|G|T|Ki|Mi|Gi|Ti)?$, got the string \"0Gi\"\n"},
    {"CopiesOfSizeZero", "{uri: out}", "{uri: out, memory: {everySteps: 5, size: 0Gi}}",
     "job.yaml:11: spec.checkpoint.memory.size: want text like "
     "^[1-9][0-9]*(k|M|G|T|Ki|Mi|Gi|Ti)?$, got the string \"0Gi\"\n"},
    {"DiskWithARelativePath", "{uri: out}", "{uri: out, memory: {size: 1Gi, disk: {path: a/../b}}}",
     "job.yaml:11: spec.checkpoint.memory.disk.path: want text like "
     "^(/([^/.][^/]*|[.][^/.][^/]*|[.][.][^/]+))+$, got the string \"a/../b\"\n"},
    {"KeepOne", "{uri: out}", "{uri: out, keep: 1}",
     "job.yaml:11: spec.checkpoint.keep: is 1; want 2 to 1000\n"},
    {"NoUri", "{uri: out}", "{keep: 3}",
     "job.yaml:11: spec.checkpoint.uri: is required and missing\n"},
    {"NoSteps", "steps: 100, ", "",
     "job.yaml:9: spec.trainer.train.steps: is required and missing; want 1 to 1000000000\n"},
    {"NullIsMissing", "steps: 100", "steps:",
     "job.yaml:9: spec.trainer.train.steps: is required and missing; want 1 to 1000000000\n"},
    {"DurationWithoutUnit", "  checkpoint:", "  elastic: {stepDeadline: \"60\"}\n  checkpoint:",
     "job.yaml:11: spec.elastic.stepDeadline: the string \"60\" is not a positive duration; want "
     "one like 90s, 10m or 1h30m\n"},
    {"DurationIsNumber", "  checkpoint:", "  elastic: {stepDeadline: 60}\n  checkpoint:",
     "job.yaml:11: spec.elastic.stepDeadline: want a string, got 60\n"},
    {"DurationZero", "  checkpoint:", "  activeDeadline: 0s\n  checkpoint:",
     "job.yaml:11: spec.activeDeadline: the string \"0s\" is not a positive duration; want one "
     "like 90s, 10m or 1h30m\n"},
    {"DurationNegative", "  checkpoint:", "  activeDeadline: -5m\n  checkpoint:",
     "job.yaml:11: spec.activeDeadline: the string \"-5m\" is not a positive duration; want one "
     "like 90s, 10m or 1h30m\n"},
    {"DurationEndless", "  checkpoint:", "  activeDeadline: 9999999999999999999h\n  checkpoint:",
     "job.yaml:11: spec.activeDeadline: the string \"9999999999999999999h\" is not a positive "
     "duration; want one like 90s, 10m or 1h30m\n"},
};

const ManifestCase kNoManifest[] = {
    {"Empty", "", "", "job.yaml:1: is empty; want a TrainingJob\n"},
    {"OnlyComments", "", "# nothing\n---\n", "job.yaml:1: is empty; want a TrainingJob\n"},
    {"Scalar", "", "hello\n", "job.yaml:1: want a TrainingJob, got the string \"hello\"\n"},
    {"List", "", "- a\n- b\n", "job.yaml:1: want a TrainingJob, got a list\n"},
    {"Binary", "",
     "\x7f"
     "ELF\x02\x01",
     "job.yaml:1: not a text file: byte 0x7f at offset 0; want YAML in UTF-8\n"},
    {"NotUtf8", "", "a: b\nc: \xff\xfe\n",
     "job.yaml:2: not a text file: byte 0xff at offset 8; want YAML in UTF-8\n"},
    {"UnclosedBracket", "", "a: 1\nb: [1, 2\n",
     "job.yaml:3: not valid YAML: end of sequence flow not found (column 1)\n"},
    {"Tab", "", "a:\n\tb: 1\n", "job.yaml:2: not valid YAML: indented by a tab; want spaces\n"},
    {"BadIndent", "", "a:\n  b: 1\n c: 2\n",
     "job.yaml:3: not valid YAML: end of map not found (column 2)\n"},
    {"UnknownAnchor", "", "a: *b\n",
     "job.yaml:1: not valid YAML: the referenced anchor is not defined (column 4)\n"},
    {"RecursiveAlias", "", "a: &a [*a]\n",
     "job.yaml:1: an alias cannot stand inside what it repeats\n"},
    {"UnknownTag", "", "a: !!python/object:os.system x\n",
     "job.yaml:1: the tag tag:yaml.org,2002:python/object:os.system is not supported; leave it "
     "out\n"},
    {"ListAsKey", "", "? [a]\n: b\n", "job.yaml:1: a key must be a word, not a list or a map\n"},
    {"NoKey", "", ": b\n", "job.yaml:1: a key is missing before \":\"\n"},
    {"SecondDocument", "", "a: 1\n---\nb: 2\n",
     "job.yaml:3: a second document starts here; want one TrainingJob in a file\n"},
    {"KubernetesPod", "", "apiVersion: v1\nkind: Pod\nspec: {containers: []}\n",
     "job.yaml:1: apiVersion: want muster.dev/v1alpha1, got the string \"v1\"\n"
     "job.yaml:2: kind: want TrainingJob, got the string \"Pod\"\n"},
};

const ManifestCase kSeveral[] = {
    {"AllAtOnce", "{count: 2}", "{count: 0, spot: true}\n  elastic: {rankDeadline: fast}",
     "job.yaml:5: spec.workers.count: is 0; want 1 to 5000\n"
     "job.yaml:5: spec.workers.spot: unknown field; the fields here are count, min, max, gpus, "
     "ranks, rdma, sharedMemory and spares\n"
     "job.yaml:6: spec.elastic.rankDeadline: the string \"fast\" is not a positive duration; want "
     "one like 90s, 10m or 1h30m\n"},
    {"DuplicateKey", "steps: 100", "steps: 100, steps: 200",
     "job.yaml:9: spec.trainer.train.steps: given twice; the first is on line 9\n"},
    {"DuplicateBlockKey", "  checkpoint:", "  workers: {count: 3}\n  checkpoint:",
     "job.yaml:11: spec.workers: given twice; the first is on line 5\n"},
    {"MergeKey", "  checkpoint:", "  <<: {suspend: true}\n  checkpoint:",
     "job.yaml:11: spec[\"<<\"]: merge keys are not supported; write the fields out\n"},
    {"DoubtIsNotJudged", "steps: 100, globalBatch: 8", "steps: 100, globalBatch: many",
     "job.yaml:9: spec.trainer.train.globalBatch: want an integer, got the string \"many\"\n"},
};

// Regression: each was taken for zero, so that any node had room.
TEST(BadQuantity, IsRefusedWithItsLine) {
  const std::string kWant = "; want a number, with a suffix as in 500m, 16G or 16Gi";
  const struct {
    const char* amounts;
    std::string error;
  } kCases[] = {
      {"requests: {memory: 500GB}", "requests.memory: \"500GB\" is no amount; want 500G or 500Gi"},
      {"limits: {memory: 300GiB}", "limits.memory: \"300GiB\" is no amount; want 300Gi"},
      {"requests: {memory: 1.5 gb}",
       "requests.memory: \"1.5 gb\" is no amount; want 1.5G or 1.5Gi"},
      {"requests: {memory: 4gi}", "requests.memory: \"4gi\" is no amount; want 4Gi"},
      {"requests: {cpu: ''}", "requests.cpu: \"\" is no amount" + kWant},
      {"requests: {memory: 1e3Mi}", "requests.memory: \"1e3Mi\" is no amount" + kWant},
      {"limits: {cpu: true}", "limits.cpu: \"true\" is no amount" + kWant},
      {"requests: {memory: -1Gi}", "requests.memory: \"-1Gi\" is negative; want 0 or more"},
      {"limits: {example.com/gpu: 0.5}",
       "limits[\"example.com/gpu\"]: \"0.5\" is no whole number, and pods get whole ones"},
      {"limits: {memory: 99E}", "limits.memory: \"99E\" is more than any machine has"},
  };
  for (const auto& c : kCases) {
    const std::string container = absl::StrCat(
        "  template: {spec: {containers: [{name: worker, resources: {", c.amounts, "}}]}}\n");
    EXPECT_EQ(
        ManifestErrors(
            absl::StrReplaceAll(kGoodManifest, {{"  checkpoint:", container + "  checkpoint:"}})),
        absl::StrCat("job.yaml:11: spec.template.spec.containers[0].resources.", c.error, "\n"));
  }
}

TEST(GoodManifest, AmountsThatAnApiServerTakesAreNoErrors) {
  for (const char* amount :
       {"0.5", "500m", "1e3", "2E", "16Gi", "1.5Gi", "'8'", "8", "0", "null"}) {
    EXPECT_EQ(ManifestErrors(absl::StrReplaceAll(
                  kGoodManifest,
                  {{"  checkpoint:",
                    absl::StrCat("  template: {spec: {containers: [{name: worker, resources: "
                                 "{requests: {cpu: ",
                                 amount, "}}}]}}\n  checkpoint:")}})),
              "")
        << amount;
  }
}

// Regression: kubectl made other pods of these than `kubectl muster run`, which sent text.
const ManifestCase kTwoDialects[] = {
    {"SwitchInTemplate", "  checkpoint:", "  template: {spec: {hostNetwork: no}}\n  checkpoint:",
     "job.yaml:11: spec.template.spec.hostNetwork: kubectl reads no as false, YAML 1.2 as text; "
     "write false or \"no\"\n"},
    {"OctalInList", "  checkpoint:",
     "  template: {spec: {volumes: [{name: t, secret: {secretName: t, defaultMode: 0400}}]}}\n"
     "  checkpoint:",
     "job.yaml:11: spec.template.spec.volumes[0].secret.defaultMode: kubectl reads 0400 as 256, "
     "YAML 1.2 as text; write 256 or \"0400\"\n"},
    {"WordOfACommand", "  checkpoint:",
     "  template: {spec: {initContainers: [{name: a, command: [echo, 1_000]}]}}\n  checkpoint:",
     "job.yaml:11: spec.template.spec.initContainers[0].command[1]: kubectl reads 1_000 as 1000, "
     "YAML 1.2 as text; write 1000 or \"1_000\"\n"},
    {"KeyOfALabel", "{name: job}", "{name: job, labels: {on: \"1\"}}",
     "job.yaml:3: metadata.labels.on: kubectl reads the key on as true; write \"on\"\n"},
};

// Each was a folder of that name.
const ManifestCase kOtherSchemes[] = {
    {"CheckpointOfGoogle", "{uri: out}", "{uri: \"gs://bucket/run\"}",
     "job.yaml:11: spec.checkpoint.uri: the scheme gs:// is not known here; want a path, "
     "file:///PATH or s3://BUCKET/PREFIX\n"},
    {"CheckpointInCapitals", "{uri: out}", "{uri: \"S3://bucket/run\"}",
     "job.yaml:11: spec.checkpoint.uri: s3:// is written in small letters\n"},
    {"CheckpointAtHome", "{uri: out}", "{uri: ~/run}",
     "job.yaml:11: spec.checkpoint.uri: ~ is not expanded here; want the whole path, or ./~ for a "
     "folder of that name\n"},
    {"CheckpointInVariable", "{uri: out}", "{uri: $HOME/run}",
     "job.yaml:11: spec.checkpoint.uri: variables are not expanded here; want the value in place "
     "of $\n"},
    {"DataOfAHub", "uri: corpus.txt", "uri: \"hf://org/data\"",
     "job.yaml:8: spec.trainer.data.uri: the scheme hf:// is not known here; want a path or "
     "file:///PATH\n"},
    {"DataInObjects", "uri: corpus.txt", "uri: \"s3://bucket/data\"",
     "job.yaml:8: spec.trainer.data.uri: objects of a store are read as checkpoints alone; want a "
     "path or file:///PATH, for example on a volume of the template\n"},
    {"TokenizerAtHome", "uri: corpus.txt", "uri: corpus.txt, tokenizer: {kind: Bpe, uri: ~/t.json}",
     "job.yaml:8: spec.trainer.data.tokenizer.uri: ~ is not expanded here; want the whole path, or "
     "./~ for a folder of that name\n"},
    {"ModelOfHadoop", "preset: gpt2-nano", "preset: gpt2-nano, uri: \"hdfs://host/model\"",
     "job.yaml:7: spec.trainer.model.uri: the scheme hdfs:// is not known here; want a path or "
     "file:///PATH\n"},
    {"ScriptOfTheWeb", "{preset: gpt2-nano}", "{torchScript: \"https://host/m.pt\"}",
     "job.yaml:7: spec.trainer.model.torchScript: the scheme https:// is not known here; want a "
     "path or file:///PATH\n"},
    {"EventFilesInObjects",
     "    optimizer:", "    logs: {tensorBoard: \"s3://bucket/logs\"}\n    optimizer:",
     "job.yaml:10: spec.trainer.logs.tensorBoard: objects of a store are read as checkpoints "
     "alone; want a path or file:///PATH, for example on a volume of the template\n"},
    {"OffloadInVariable", "    optimizer:",
     "    parallelism: {offload: {optimizer: Disk, directory: $TMPDIR}}\n    optimizer:",
     "job.yaml:10: spec.trainer.parallelism.offload.directory: variables are not expanded here; "
     "want the value in place of $\n"},
};

INSTANTIATE_TEST_SUITE_P(TwoDialects, BadManifest, testing::ValuesIn(kTwoDialects), CaseName);
INSTANTIATE_TEST_SUITE_P(OtherSchemes, BadManifest, testing::ValuesIn(kOtherSchemes), CaseName);
INSTANTIATE_TEST_SUITE_P(NamesAndTypes, BadManifest, testing::ValuesIn(kNamesAndTypes), CaseName);
INSTANTIATE_TEST_SUITE_P(Ranges, BadManifest, testing::ValuesIn(kRanges), CaseName);
INSTANTIATE_TEST_SUITE_P(NoManifest, BadManifest, testing::ValuesIn(kNoManifest), CaseName);
INSTANTIATE_TEST_SUITE_P(Several, BadManifest, testing::ValuesIn(kSeveral), CaseName);

}  // namespace
}  // namespace muster::control
