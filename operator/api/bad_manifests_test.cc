#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "operator/api/manifest.h"

// Tests every kind of faulty manifest, with the exact sentence and line that its author reads.

namespace muster::control {
namespace {

constexpr char kGood[] = R"(apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: job}
spec:
  workers: {count: 2}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: corpus.txt}
    train: {steps: 100, globalBatch: 8, microBatch: 2, sequence: 128}
    optimizer: {name: adamw}
  checkpoint: {uri: out}
)";

struct Case {
  const char* name;
  const char* from;  // in kGood; empty: `to` is the whole manifest
  const char* to;
  const char* errors;
};

std::string Errors(const std::string& yaml) {
  return FormatErrors("job.yaml", ParseManifest(yaml).errors);
}

class BadManifest : public testing::TestWithParam<Case> {};

TEST_P(BadManifest, SaysWhatIsWrong) {
  const Case& c = GetParam();
  ASSERT_TRUE(absl::StrContains(kGood, c.from));
  const std::string from = c.from;
  EXPECT_EQ(Errors(from.empty() ? c.to : absl::StrReplaceAll(kGood, {{from, c.to}})), c.errors);
}

std::string Name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

TEST(GoodManifest, HasNoErrors) { EXPECT_EQ(Errors(kGood), ""); }

const Case kNamesAndTypes[] = {
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
     "job.yaml:5: spec.workers.gpuMemory: unknown field; the fields here are count, min, max, gpus "
     "and ranks\n"},
    {"WrongCase", "globalBatch", "global_batch",
     "job.yaml:9: spec.trainer.train.global_batch: unknown field; did you mean globalBatch?\n"},
    {"StringForInteger", "steps: 100", "steps: \"100\"",
     "job.yaml:9: spec.trainer.train.steps: want an integer, got the string \"100\"\n"},
    {"FractionForInteger", "steps: 100", "steps: 1.5",
     "job.yaml:9: spec.trainer.train.steps: want an integer, got 1.5\n"},
    {"IntegerBeyond32Bits", "count: 2", "count: 4294967298",
     "job.yaml:5: spec.workers.count: want an integer of 32 bits, got 4294967298\n"},
    {"IntegerBeyond64Bits", "steps: 100", "steps: 99999999999999999999",
     "job.yaml:9: spec.trainer.train.steps: want an integer, got the string "
     "\"99999999999999999999\"\n"},
    {"OctalForInteger", "steps: 100", "steps: 0100",
     "job.yaml:9: spec.trainer.train.steps: want an integer, got the string \"0100\"\n"},
    {"StringForBool", "  checkpoint:", "  suspend: yes\n  checkpoint:",
     "job.yaml:11: spec.suspend: want true or false, got the string \"yes\"\n"},
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
     "successPolicy, managedBy, queue, priorityClassName and topology\n"},
};

const Case kRanges[] = {
    {"CountZero", "count: 2", "count: 0", "job.yaml:5: spec.workers.count: is 0; want 1 to 5000\n"},
    {"CountTooLarge", "count: 2", "count: 5001",
     "job.yaml:5: spec.workers.count: is 5001; want 1 to 5000\n"},
    {"UnknownPreset", "gpt2-nano", "gpt2-tiny",
     "job.yaml:7: spec.trainer.model.preset: want gpt2-nano, gpt2-micro, gpt2-mini, gpt2-124m, "
     "gpt2-355m, gpt2-774m or gpt2-1558m, got the string \"gpt2-tiny\"\n"},
    {"DropoutOne", "preset: gpt2-nano", "preset: gpt2-nano, dropout: 1",
     "job.yaml:7: spec.trainer.model.dropout: is 1; want at least 0 and less than 1\n"},
    {"ValidationTooLarge", "uri: corpus.txt", "uri: corpus.txt, validation: 0.6",
     "job.yaml:8: spec.trainer.data.validation: is 0.6; want 0 to 0.5\n"},
    {"LearningRateZero", "{name: adamw}", "{learningRate: 0}",
     "job.yaml:10: spec.trainer.optimizer.learningRate: is 0; want more than 0 and at most 100\n"},
    {"NegativeSeed", "steps: 100", "steps: 100, seed: -1",
     "job.yaml:9: spec.trainer.train.seed: is -1; want 0 to 9007199254740991\n"},
    {"UnknownFormat", "uri: corpus.txt", "uri: corpus.txt, format: text",
     "job.yaml:8: spec.trainer.data.format: want Text, Bytes or Tokens, got the string \"text\"\n"},
    {"UnknownOptimizer", "name: adamw", "name: adam",
     "job.yaml:10: spec.trainer.optimizer.name: want adamw or sgd, got the string \"adam\"\n"},
    {"EmptyUri", "uri: corpus.txt", "uri: ''",
     "job.yaml:8: spec.trainer.data.uri: must not be empty\n"},
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

const Case kContradictions[] = {
    {"MinAboveCount", "{count: 2}", "{count: 2, min: 3}",
     "job.yaml:5: spec.workers.min: must not be more than workers.count (here 3 and 2)\n"},
    {"MaxBelowCount", "{count: 2}", "{count: 2, max: 1}",
     "job.yaml:5: spec.workers.max: must not be less than workers.count (here 1 and 2)\n"},
    {"RanksBesideGpus", "",
     "apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: job}\nspec:\n  "
     "workers: {gpus: 1, ranks: 2}\n  "
     "template: {spec: {containers: [{name: worker, command: [sh]}]}}\n",
     "job.yaml:5: spec.workers.ranks: a worker with GPUs runs one rank on each: leave ranks out, "
     "or set gpus to 0\n"},
    {"NothingToRun", "",
     "apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: job}\nspec: {suspend: "
     "true}\n",
     "job.yaml:4: spec: nothing to run: give a trainer, or a template whose container named worker "
     "has a command\n"},
    {"TwoThingsToRun", "  checkpoint:",
     "  template: {spec: {containers: [{name: worker, command: [sh]}]}}\n  checkpoint:",
     "job.yaml:6: spec.trainer: two things to run: with trainer, the container named worker must "
     "have no command\n"},
    {"BatchNotDivisible", "microBatch: 2", "microBatch: 3",
     "job.yaml:9: spec.trainer.train.globalBatch: must be a multiple of microBatch (here 8 and 3: "
     "6 or 9 would do)\n"},
    {"MicroBatchAboveGlobal", "microBatch: 2", "microBatch: 16",
     "job.yaml:9: spec.trainer.train.globalBatch: every rank needs a micro-batch: the ranks of all "
     "workers (at workers.max) must not outnumber globalBatch / microBatch (here 2 ranks and 8 / "
     "16 = 0 micro-batches)\n"
     "job.yaml:9: spec.trainer.train.globalBatch: must be a multiple of microBatch (here 8 and "
     "16)\n"},
    {"MoreRanksThanMicroBatches", "{count: 2}", "{count: 2, max: 3, ranks: 2}",
     "job.yaml:9: spec.trainer.train.globalBatch: every rank needs a micro-batch: the ranks of all "
     "workers (at workers.max) must not outnumber globalBatch / microBatch (here 6 ranks and 8 / 2 "
     "= 4 micro-batches)\n"},
    {"SequenceBeyondPreset", "sequence: 128", "sequence: 257",
     "job.yaml:9: spec.trainer.train.sequence: must not be longer than the model's positions (here "
     "257 and 256)\n"},
    {"SequenceBeyondPositions", "preset: gpt2-nano", "preset: gpt2-nano, positions: 64",
     "job.yaml:9: spec.trainer.train.sequence: must not be longer than the model's positions (here "
     "128 and 64)\n"},
    {"HeadsNotDividing", "preset: gpt2-nano", "preset: gpt2-nano, heads: 5",
     "job.yaml:7: spec.trainer.model: the model's width must be a multiple of its heads (here 64 "
     "and 5)\n"},
    {"NoShape", "{preset: gpt2-nano}", "{layers: 2, heads: 2, width: 64}",
     "job.yaml:7: spec.trainer.model: give a preset, or all of layers, heads, width and "
     "positions\n"},
    {"WarmupBeyondSteps", "{name: adamw}", "{warmupSteps: 101}",
     "job.yaml:10: spec.trainer.optimizer.warmupSteps: must not be more than train.steps (here 101 "
     "and 100)\n"},
    {"MomentumOfAdamW", "{name: adamw}", "{momentum: 0.9}",
     "job.yaml:10: spec.trainer.optimizer.momentum: is an option of sgd: adamw has beta1 and "
     "beta2\n"},
    {"BetasOfSgd", "{name: adamw}", "{name: sgd, beta1: 0.5}",
     "job.yaml:10: spec.trainer.optimizer.beta1: beta1, beta2 and epsilon are options of adamw: "
     "sgd "
     "has momentum\n"},
    {"EpsilonOfSgd", "{name: adamw}", "{name: sgd, epsilon: 1.0e-6}",
     "job.yaml:10: spec.trainer.optimizer.beta1: beta1, beta2 and epsilon are options of adamw: "
     "sgd "
     "has momentum\n"},
    {"FinalFractionOfConstant", "{name: adamw}", "{schedule: constant, finalFraction: 0}",
     "job.yaml:10: spec.trainer.optimizer.finalFraction: a constant learning rate has no last "
     "value: leave it out, or set schedule to linear or cosine\n"},
    {"GpusForTheTrainer", "{count: 2}", "{count: 2, gpus: 1}",
     "job.yaml:5: spec.workers.gpus: the built-in trainer computes on the CPU so far: leave "
     "workers.gpus out, or give the template a command that uses the GPUs\n"},
    {"BytesWithBpe", "uri: corpus.txt",
     "uri: corpus.txt, format: Bytes, tokenizer: {kind: Bpe, vocabulary: 1024}",
     "job.yaml:8: spec.trainer.data.tokenizer.kind: format Bytes is tokenized by kind Byte: leave "
     "the tokenizer out, or set format to Text\n"},
    {"ByteWithVocabulary", "uri: corpus.txt", "uri: corpus.txt, tokenizer: {vocabulary: 1024}",
     "job.yaml:8: spec.trainer.data.tokenizer.kind: kind Byte has 256 tokens and no file: leave "
     "uri and vocabulary out, or set kind to Bpe\n"},
    {"BpeWithoutSource", "uri: corpus.txt", "uri: corpus.txt, tokenizer: {kind: Bpe}",
     "job.yaml:8: spec.trainer.data.tokenizer.kind: kind Bpe needs exactly one of uri (a "
     "tokenizer.json to read) and vocabulary (the size to train)\n"},
    {"BpeWithTwoSources", "uri: corpus.txt",
     "uri: corpus.txt, tokenizer: {kind: Bpe, uri: t.json, vocabulary: 300}",
     "job.yaml:8: spec.trainer.data.tokenizer.kind: kind Bpe needs exactly one of uri (a "
     "tokenizer.json to read) and vocabulary (the size to train)\n"},
    {"TokenTypeOfText", "uri: corpus.txt", "uri: corpus.txt, tokenType: U16",
     "job.yaml:8: spec.trainer.data.tokenType: only format Tokens has a token type: leave it out, "
     "or set format to Tokens\n"},
    {"TokensWithoutVocabulary", "uri: corpus.txt", "uri: corpus.txt, format: Tokens",
     "job.yaml:7: spec.trainer.model.vocabulary: format Tokens does not say how many tokens there "
     "are: set it here, or give data.tokenizer.uri\n"},
    {"TimeWithoutTime", "{uri: out}", "{uri: out, interval: {mode: Time}}",
     "job.yaml:11: spec.checkpoint.interval.time: mode Time needs time, and only it has one\n"},
    {"TimeInModeSteps", "{uri: out}", "{uri: out, interval: {steps: 5, time: 1m}}",
     "job.yaml:11: spec.checkpoint.interval.time: mode Time needs time, and only it has one\n"},
    {"StepsWithoutSteps", "{uri: out}", "{uri: out, interval: {mode: Steps}}",
     "job.yaml:11: spec.checkpoint.interval.steps: mode Steps needs steps, and only it has them\n"},
};

const Case kTemplates[] = {
    {"CommandIsString", "",
     "apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: job}\nspec:\n  "
     "template: {spec: {containers: [{name: worker, command: python3}]}}\n",
     "job.yaml:5: spec.template.spec.containers[0].command: want a list, got the string "
     "\"python3\"\n"},
    {"CommandEmpty", "",
     "apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: job}\nspec:\n  "
     "template: {spec: {containers: [{name: worker, command: []}]}}\n",
     "job.yaml:4: spec: nothing to run: give a trainer, or a template whose container named worker "
     "has a command\n"},
    {"OtherContainerOnly", "",
     "apiVersion: muster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: job}\nspec:\n  "
     "template: {spec: {containers: [{name: main, command: [sh]}]}}\n",
     "job.yaml:4: spec: nothing to run: give a trainer, or a template whose container named worker "
     "has a command\n"},
    {"ContainerWithoutName", "  checkpoint:",
     "  template:\n    spec:\n      containers:\n        - image: x\n  checkpoint:",
     "job.yaml:14: spec.template.spec.containers[0].name: is required and missing\n"},
    {"ContainersIsObject",
     "  checkpoint:", "  template: {spec: {containers: {name: worker}}}\n  checkpoint:",
     "job.yaml:11: spec.template.spec.containers: want a list, got an object\n"},
    {"ImageOfTheTrainer", "  checkpoint:",
     "  template: {spec: {containers: [{name: worker, image: mine}]}}\n  checkpoint:",
     "job.yaml:11: spec.template.spec.containers: with trainer the container named worker runs the "
     "trainer's own image: leave image and args out\n"},
    {"ArgsOfTheTrainer", "  checkpoint:",
     "  template: {spec: {containers: [{name: worker, args: [--fast]}]}}\n  checkpoint:",
     "job.yaml:11: spec.template.spec.containers: with trainer the container named worker runs the "
     "trainer's own image: leave image and args out\n"},
    {"GpusInTheTemplate", "  checkpoint:",
     "  template: {spec: {containers: [{name: side, resources: {limits: {nvidia.com/gpu: 1}}}, "
     "{name: worker, resources: {limits: {cpu: 2, nvidia.com/gpu: 1}, "
     "requests: {nvidia.com/mig-1g.5gb: \"2\", amd.com/gpu: 0}}}]}}\n  checkpoint:",
     "job.yaml:11: spec.template.spec.containers[1].resources.limits[\"nvidia.com/gpu\"]: the "
     "built-in trainer computes on the CPU so far: leave the GPUs out, or give the template a "
     "command that uses them\n"
     "job.yaml:11: spec.template.spec.containers[1].resources.requests[\"nvidia.com/mig-1g.5gb\"]: "
     "the built-in trainer computes on the CPU so far: leave the GPUs out, or give the template a "
     "command that uses them\n"},
    {"NodeIsChosen", "  checkpoint:", "  template: {spec: {nodeName: a}}\n  checkpoint:",
     "job.yaml:11: spec.template.spec: muster chooses the node and starts again what failed: leave "
     "nodeName out, and restartPolicy out or Never; a nodeSelector or affinity says where pods may "
     "run\n"},
    {"PodsRestart", "  checkpoint:", "  template: {spec: {restartPolicy: Always}}\n  checkpoint:",
     "job.yaml:11: spec.template.spec: muster chooses the node and starts again what failed: leave "
     "nodeName out, and restartPolicy out or Never; a nodeSelector or affinity says where pods may "
     "run\n"},
    {"EnvValueIsNumber", "  checkpoint:",
     "  template: {spec: {containers: [{name: worker, env: [{name: A, value: 1}]}]}}\n  "
     "checkpoint:",
     "job.yaml:11: spec.template.spec.containers[0].env[0].value: want a string, got 1\n"},
};

const Case kNoManifest[] = {
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

const Case kFailurePolicy[] = {
    {"RuleWithoutAction",
     "  checkpoint:", "  failurePolicy: {rules: [{exitCodes: {values: [1]}}]}\n  checkpoint:",
     "job.yaml:11: spec.failurePolicy.rules[0].action: is required and missing; want "
     "RestartWorker, RestartJob, Ignore or FailJob\n"},
    {"RuleWithoutMatcher",
     "  checkpoint:", "  failurePolicy: {rules: [{action: Ignore}]}\n  checkpoint:",
     "job.yaml:11: spec.failurePolicy.rules[0]: a rule needs something to match: exitCodes, "
     "signals, reasons, containers, logPattern, nodeConditions or podConditions\n"},
    {"ExitCodesEmpty",
     "  checkpoint:", "  failurePolicy: {rules: [{action: Ignore, exitCodes: {}}]}\n  checkpoint:",
     "job.yaml:11: spec.failurePolicy.rules[0].exitCodes: give values or ranges\n"},
    {"ExitCodeTooLarge", "  checkpoint:",
     "  failurePolicy: {rules: [{action: Ignore, exitCodes: {values: [256]}}]}\n  checkpoint:",
     "job.yaml:11: spec.failurePolicy.rules[0].exitCodes.values[0]: is 256; want 0 to 255\n"},
    {"ExitCodeRangeBackwards", "  checkpoint:",
     "  failurePolicy: {rules: [{action: Ignore, exitCodes: {ranges: [{first: 9, last: 3}]}}]}\n"
     "  checkpoint:",
     "job.yaml:11: spec.failurePolicy.rules[0].exitCodes.ranges[0].first: must not be more than "
     "last (here 9 and 3)\n"},
    {"SignalUnknown", "  checkpoint:",
     "  failurePolicy: {rules: [{action: Ignore, signals: [SIGWINCH]}]}\n  checkpoint:",
     "job.yaml:11: spec.failurePolicy.rules[0].signals[0]: want SIGHUP, SIGINT, SIGQUIT, SIGILL, "
     "SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGUSR1, SIGSEGV, SIGUSR2, SIGPIPE, SIGALRM, "
     "SIGTERM, SIGXCPU, SIGXFSZ or SIGSYS, got the string \"SIGWINCH\"\n"},
    {"LogPatternBroken", "  checkpoint:",
     "  failurePolicy: {rules: [{action: Ignore, logPattern: '(a'}]}\n  checkpoint:",
     "job.yaml:11: spec.failurePolicy.rules[0].logPattern: must be a regular expression in RE2 "
     "syntax (missing ): (a)\n"},
    {"ConditionWithoutType", "  checkpoint:",
     "  failurePolicy: {rules: [{action: Ignore, nodeConditions: [{status: \"True\"}]}]}\n"
     "  checkpoint:",
     "job.yaml:11: spec.failurePolicy.rules[0].nodeConditions[0].type: is required and missing\n"},
    {"BackoffBackwards", "  checkpoint:", "  failurePolicy: {initialBackoff: 2m}\n  checkpoint:",
     "job.yaml:11: spec.failurePolicy.initialBackoff: must not be longer than maxBackoff (here 2m "
     "and 1m)\n"},
    {"SuccessPolicyUnknown", "  checkpoint:", "  successPolicy: Any\n  checkpoint:",
     "job.yaml:11: spec.successPolicy: want All or Leader, got the string \"Any\"\n"},
    {"ManagedByWithoutDomain", "  checkpoint:", "  managedBy: kueue\n  checkpoint:",
     "job.yaml:11: spec.managedBy: a controller's name begins with its domain, as in "
     "example.com/controller\n"},
};

const Case kTopology[] = {
    {"LevelWithBlank", "  checkpoint:", "  topology: {require: top rack}\n  checkpoint:",
     "job.yaml:11: spec.topology.require: want text like "
     "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$, got the string "
     "\"top rack\"\n"},
    {"LevelEmpty", "  checkpoint:", "  topology: {prefer: ''}\n  checkpoint:",
     "job.yaml:11: spec.topology.prefer: must not be empty\n"},
    {"TopologyIsString", "  checkpoint:", "  topology: leaf\n  checkpoint:",
     "job.yaml:11: spec.topology: want an object, got the string \"leaf\"\n"},
    {"SliceWithoutLevel", "  checkpoint:", "  topology: {slices: [{workers: 2}]}\n  checkpoint:",
     "job.yaml:11: spec.topology.slices[0].level: is required and missing\n"},
    {"SlicesThatDoNotDivideTheGang",
     "  checkpoint:", "  topology: {slices: [{workers: 3, level: leaf}]}\n  checkpoint:",
     "job.yaml:11: spec.topology.slices: workers.count must be a multiple of the first slice's "
     "workers (here 2 and 3)\n"},
    {"SlicesThatDoNotNest", "  checkpoint:",
     "  topology: {slices: [{workers: 2, level: leaf}, {workers: 3, level: host}]}\n  checkpoint:",
     "job.yaml:11: spec.topology.slices: slices nest: each one's workers must be a multiple of the "
     "next one's (here 2 and 3)\n"},
};

// A job with its own command; the cases are features that muster cannot provide for it.
constexpr char kCommand[] = R"(apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: job}
spec:
  template: {spec: {containers: [{name: worker, command: [sh], image: mine, args: [-c, "true"]}]}}
  checkpoint: {uri: out}
  elastic: {stepDeadline: 300s, orphanDeadline: 1m}
)";

constexpr char kCommandsSteps[] =
    "job.yaml:7: spec.elastic: muster does not see a command's steps: stepDeadline and "
    "rankDeadline "
    "have an effect with trainer only, leave them out\n";
constexpr char kCommandsCheckpoints[] =
    "job.yaml:6: spec.checkpoint: a command saves by itself, into the directory that "
    "MUSTER_CHECKPOINT_DIR names: without trainer only uri has an effect, leave the other fields "
    "out\n";

const Case kCommands[] = {
    {"StepDeadlineOfACommand", "300s", "1m", kCommandsSteps},
    {"RankDeadlineOfACommand", "stepDeadline: 300s", "rankDeadline: 3s", kCommandsSteps},
    {"KeepOfACommand", "{uri: out}", "{uri: out, keep: 4}", kCommandsCheckpoints},
    {"IntervalOfACommand", "{uri: out}", "{uri: out, interval: {mode: Time, time: 1m}}",
     kCommandsCheckpoints},
    {"StepsOfACommand", "{uri: out}", "{uri: out, interval: {steps: 10}}", kCommandsCheckpoints},
    {"OnDamageOfACommand", "{uri: out}", "{uri: out, onDamage: Hold}", kCommandsCheckpoints},
    {"GiveUpOfACommand", "{uri: out}", "{uri: out, giveUp: '7@0123456789abcdef'}",
     kCommandsCheckpoints},
};

class BadCommand : public testing::TestWithParam<Case> {};

TEST_P(BadCommand, SaysWhatIsWrong) {
  const Case& c = GetParam();
  ASSERT_TRUE(absl::StrContains(kCommand, c.from));
  EXPECT_EQ(Errors(absl::StrReplaceAll(kCommand, {{c.from, c.to}})), c.errors);
}

TEST(GoodCommand, HasNoErrors) { EXPECT_EQ(Errors(kCommand), ""); }

const Case kSeveral[] = {
    {"AllAtOnce", "{count: 2}", "{count: 0, spot: true}\n  elastic: {rankDeadline: fast}",
     "job.yaml:5: spec.workers.count: is 0; want 1 to 5000\n"
     "job.yaml:5: spec.workers.spot: unknown field; the fields here are count, min, max, gpus and "
     "ranks\n"
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

INSTANTIATE_TEST_SUITE_P(NamesAndTypes, BadManifest, testing::ValuesIn(kNamesAndTypes), Name);
INSTANTIATE_TEST_SUITE_P(Ranges, BadManifest, testing::ValuesIn(kRanges), Name);
INSTANTIATE_TEST_SUITE_P(Contradictions, BadManifest, testing::ValuesIn(kContradictions), Name);
INSTANTIATE_TEST_SUITE_P(Templates, BadManifest, testing::ValuesIn(kTemplates), Name);
INSTANTIATE_TEST_SUITE_P(NoManifest, BadManifest, testing::ValuesIn(kNoManifest), Name);
INSTANTIATE_TEST_SUITE_P(FailurePolicy, BadManifest, testing::ValuesIn(kFailurePolicy), Name);
INSTANTIATE_TEST_SUITE_P(Topology, BadManifest, testing::ValuesIn(kTopology), Name);
INSTANTIATE_TEST_SUITE_P(Commands, BadCommand, testing::ValuesIn(kCommands), Name);
INSTANTIATE_TEST_SUITE_P(Several, BadManifest, testing::ValuesIn(kSeveral), Name);

}  // namespace
}  // namespace muster::control
