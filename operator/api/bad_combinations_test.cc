#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "operator/api/bad_manifest_fixture.h"

// Tests fields that are right by themselves and cannot be had together.

namespace muster::control {
namespace {

const ManifestCase kContradictions[] = {
    {"MinAboveCount", "{count: 2}", "{count: 2, min: 3}",
     "job.yaml:5: spec.workers.min: must not be more than workers.count (here 3 and 2)\n"},
    {"MaxBelowCount", "{count: 2}", "{count: 2, max: 1}",
     "job.yaml:5: spec.workers.max: must not be less than workers.count (here 1 and 2)\n"},
    {"GrowthWithoutMax", "  checkpoint:", "  elastic: {policy: Grow}\n  checkpoint:",
     "job.yaml:11: spec.elastic.policy: the job grows up to workers.max and no further: set "
     "workers.max too, or leave policy out\n"},
    {"SnoozeWithoutGrowth", "  checkpoint:", "  elastic: {snooze: 1m}\n  checkpoint:",
     "job.yaml:11: spec.elastic.snooze: says how long a job does not grow after it changed its "
     "size: only policy Grow has it\n"},
    {"UtilisationWithoutRoom",
     "  checkpoint:", "  elastic: {utilisation: {below: 0.4}}\n  checkpoint:",
     "job.yaml:11: spec.elastic.utilisation: the job has no worker to give back: set workers.min "
     "below workers.count, or leave utilisation out\n"},
    {"PatienceOfSeconds", "{count: 2}",
     "{count: 2, min: 1}\n  elastic: {utilisation: {below: 0.4, for: 30s}}",
     "job.yaml:6: spec.elastic.utilisation.for: utilisation is measured over minutes: want 1m to "
     "24h\n"},
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
    {"TuningOfNothing", "    optimizer:", "    tunings: [{fromStep: 5, by: anna}]\n    optimizer:",
     "job.yaml:10: spec.trainer.tunings[0].learningRate: changes nothing: give learningRate or "
     "clipNorm\n"},
    {"BatchNotDivisible", "microBatch: 2", "microBatch: 3",
     "job.yaml:9: spec.trainer.train.globalBatch: must be a multiple of microBatch (here 8 and 3: "
     "6 or 9 would do)\n"},
    {"MicroBatchAboveGlobal", "microBatch: 2", "microBatch: 16",
     "job.yaml:9: spec.trainer.train.globalBatch: every rank needs a micro-batch: the ranks of all "
     "workers (at workers.max) must not outnumber globalBatch / microBatch; those that "
     "work on one micro-batch together, by parallelism.pipeline, context and tensor, count as one "
     "(here 2 ranks and 8 / "
     "16 = 0 micro-batches)\n"
     "job.yaml:9: spec.trainer.train.globalBatch: must be a multiple of microBatch (here 8 and "
     "16)\n"},
    {"MoreRanksThanMicroBatches", "{count: 2}", "{count: 2, max: 3, ranks: 2}",
     "job.yaml:9: spec.trainer.train.globalBatch: every rank needs a micro-batch: the ranks of all "
     "workers (at workers.max) must not outnumber globalBatch / microBatch; those that "
     "work on one micro-batch together, by parallelism.pipeline, context and tensor, count as one "
     "(here 6 ranks and 8 / 2 "
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
     "positions, or torchScript\n"},
    {"ScriptWithAShape", "{preset: gpt2-nano}", "{torchScript: model.pt, layers: 2}",
     "job.yaml:7: spec.trainer.model.torchScript: holds the whole model, its shape and first "
     "weights included: beside it only vocabulary is given\n"},
    {"ScriptWithWeights", "{preset: gpt2-nano}", "{torchScript: model.pt, uri: weights}",
     "job.yaml:7: spec.trainer.model.torchScript: holds the whole model, its shape and first "
     "weights included: beside it only vocabulary is given\n"},
    {"FamilyOfAPreset", "preset: gpt2-nano", "preset: llama-nano, family: llama",
     "job.yaml:7: spec.trainer.model.family: a preset has its own family: leave family out, or "
     "leave "
     "preset out and give the whole shape\n"},
    {"OptionsOfLlamaInAPreset", "preset: gpt2-nano", "preset: bloom-nano, keyValueHeads: 2",
     "job.yaml:7: spec.trainer.model: keyValueHeads, feedForwardWidth, rope and tiedHead are "
     "options "
     "of the family llama: leave them out (here the family is bloom)\n"},
    {"OptionsOfLlamaInAShape", "preset: gpt2-nano",
     "layers: 2, heads: 2, width: 64, positions: 256, tiedHead: true",
     "job.yaml:7: spec.trainer.model: keyValueHeads, feedForwardWidth, rope and tiedHead are "
     "options "
     "of the family llama: leave them out (here the family is gpt2)\n"},
    {"KeyValueHeadsNotDividing", "preset: gpt2-nano", "preset: llama-nano, keyValueHeads: 3",
     "job.yaml:7: spec.trainer.model: the model's heads must be a multiple of its keyValueHeads "
     "(here 4 and 3)\n"},
    {"OddHeadsOfLlama", "preset: gpt2-nano", "preset: llama-nano, width: 60",
     "job.yaml:7: spec.trainer.model: rotary positions turn pairs of elements: width / heads must "
     "be even (here 60 and 4)\n"},
    {"Llama3ScalingWithoutPositions", "preset: gpt2-nano",
     "preset: llama-nano, rope: {scaling: {kind: llama3, factor: 8}}",
     "job.yaml:7: spec.trainer.model.rope.scaling.kind: kind llama3 needs originalPositions; kind "
     "linear has neither it nor lowFrequencyFactor and highFrequencyFactor\n"},
    {"FrequencyFactorsBackwards", "preset: gpt2-nano",
     "preset: llama-nano, rope: {scaling: {kind: llama3, factor: 8, originalPositions: 64, "
     "lowFrequencyFactor: 5}}",
     "job.yaml:7: spec.trainer.model.rope.scaling.lowFrequencyFactor: must be less than "
     "highFrequencyFactor (here 5 and 4)\n"},
    {"WarmupBeyondSteps", "{name: adamw}", "{warmupSteps: 101}",
     "job.yaml:10: spec.trainer.optimizer.warmupSteps: must not be more than train.steps (here 101 "
     "and 100)\n"},
    {"MomentumOfAdamW", "{name: adamw}", "{momentum: 0.9}",
     "job.yaml:10: spec.trainer.optimizer.momentum: is an option of sgd: all others have beta1 and "
     "beta2\n"},
    {"MomentumOfMuon", "{name: adamw}", "{name: muon, momentum: 0.95}",
     "job.yaml:10: spec.trainer.optimizer.momentum: is an option of sgd: all others have beta1 and "
     "beta2\n"},
    {"BetasOfSgd", "{name: adamw}", "{name: sgd, beta1: 0.5}",
     "job.yaml:10: spec.trainer.optimizer.beta1: sgd has neither beta1 nor beta2: it has "
     "momentum\n"},
    {"EpsilonOfLion", "{name: adamw}", "{name: lion, beta2: 0.99, epsilon: 1.0e-6}",
     "job.yaml:10: spec.trainer.optimizer.epsilon: is an option of adamw, lamb and muon: the "
     "updates of lion and sgd do not divide\n"},
    {"FinalFractionOfConstant", "{name: adamw}", "{schedule: constant, finalFraction: 0}",
     "job.yaml:10: spec.trainer.optimizer.finalFraction: a learning rate that is constant or falls "
     "for ever has no last value: leave it out, or set schedule to linear, cosine or wsd\n"},
    {"FinalFractionOfInverseSqrt", "{name: adamw}", "{schedule: inverseSqrt, finalFraction: 0}",
     "job.yaml:10: spec.trainer.optimizer.finalFraction: a learning rate that is constant or falls "
     "for ever has no last value: leave it out, or set schedule to linear, cosine or wsd\n"},
    {"DecayStepsOfCosine", "{name: adamw}", "{decaySteps: 20}",
     "job.yaml:10: spec.trainer.optimizer.decaySteps: says in how many last steps the learning "
     "rate "
     "falls with schedule: wsd: set both or neither\n"},
    {"WsdWithoutDecaySteps", "{name: adamw}", "{schedule: wsd}",
     "job.yaml:10: spec.trainer.optimizer.decaySteps: says in how many last steps the learning "
     "rate "
     "falls with schedule: wsd: set both or neither\n"},
    {"DecayBeyondSteps", "{name: adamw}", "{schedule: wsd, warmupSteps: 50, decaySteps: 51}",
     "job.yaml:10: spec.trainer.optimizer.decaySteps: optimizer.warmupSteps and decaySteps "
     "together "
     "must not be more than train.steps (here 50, 51 and 100)\n"},
    {"ShardNotDividingTheRanks", "{name: adamw}",
     "{name: adamw}\n    parallelism: {zero: 1, shard: 3}",
     "job.yaml:11: spec.trainer.parallelism.shard: must divide the number of ranks, which is "
     "workers.count times the ranks of each worker; those that work on one micro-batch "
     "together, by parallelism.pipeline, context and tensor, count as one (here 3 and 2 ranks: 2 "
     "would do)\n"},
    {"ShardWithoutZero", "{name: adamw}", "{name: adamw}\n    parallelism: {shard: 2}",
     "job.yaml:11: spec.trainer.parallelism.shard: says how many ranks divide the state, which "
     "zero: 0 does not divide: set zero to 1, 2 or 3\n"},
    {"TensorNotDividingTheRanksOfAWorker", "{name: adamw}",
     "{name: adamw}\n    parallelism: {tensor: 2}",
     "job.yaml:11: spec.trainer.parallelism.tensor: must divide the ranks of a worker, which are "
     "workers.gpus or workers.ranks: ranks that compute a micro-batch together are on one machine "
     "(here 2 and 1 ranks: 1 would do)\n"},
    {"TensorNotDividingTheHeads",
     "{count: 2}\n  trainer:", "{count: 1, ranks: 3}\n  trainer:\n    parallelism: {tensor: 3}",
     "job.yaml:7: spec.trainer.parallelism.tensor: must divide train.sequence: between matrix "
     "products each rank has a part of it (here 3 and 128)\n"
     "job.yaml:7: spec.trainer.parallelism.tensor: must divide the model's heads, or its "
     "keyValueHeads: each rank has whole ones (here 3 and 4)\n"},
    {"PipelineNotDividingTheRanks", "{count: 2}\n  trainer:",
     "{count: 3, ranks: 2}\n  trainer:\n    parallelism: {pipeline: 2, tensor: 2}",
     "job.yaml:7: spec.trainer.parallelism.pipeline: must divide the number of ranks, which is "
     "workers.count times the ranks of each worker; those that parallelism.tensor puts together "
     "count as one (here 2 and 3: 1 or 3 would do)\n"},
    {"MoreStagesThanBlocks", "{count: 2}\n  trainer:\n    model: {preset: gpt2-nano}",
     "{count: 6}\n  trainer:\n    parallelism: {pipeline: 6}\n    model: {preset: gpt2-nano, "
     "layers: "
     "3}",
     "job.yaml:7: spec.trainer.parallelism.pipeline: pipeline x chunks must not be more than the "
     "model's blocks, which are its layers, the embedding and the head: each stage has at least "
     "one in each of its chunks, and ZeroBubbleV has two chunks (here 6 and 5)\n"},
    {"MoreChunksThanBlocks", "{count: 2}\n  trainer:\n    model: {preset: gpt2-nano}",
     "{count: 2}\n  trainer:\n    parallelism: {pipeline: 2, schedule: Interleaved, chunks: 3}\n"
     "    model: {preset: gpt2-nano, layers: 3}",
     "job.yaml:7: spec.trainer.parallelism.pipeline: pipeline x chunks must not be more than the "
     "model's blocks, which are its layers, the embedding and the head: each stage has at least "
     "one in each of its chunks, and ZeroBubbleV has two chunks (here 2 x 3 and 5)\n"},
    {"ChunksWithoutInterleaved",
     "{count: 2}\n  trainer:", "{count: 2}\n  trainer:\n    parallelism: {pipeline: 2, chunks: 2}",
     "job.yaml:7: spec.trainer.parallelism.chunks: says how many runs of blocks a stage has with "
     "schedule: Interleaved, which needs 2 or more: set both or neither\n"},
    {"TensorOfATorchScriptModel", "{count: 2}\n  trainer:\n    model: {preset: gpt2-nano}",
     "{count: 1, ranks: 2}\n  trainer:\n    parallelism: {tensor: 2}\n"
     "    model: {torchScript: model.pt, vocabulary: 256}",
     "job.yaml:7: spec.trainer.parallelism.tensor: a model of model.torchScript does not say how "
     "ranks can divide its layers: leave tensor out; zero divides its state\n"},
    {"ContextNotDividingTheRanks", "{count: 2}\n  trainer:",
     "{count: 3, ranks: 2}\n  trainer:\n    parallelism: {context: 2, tensor: 2}",
     "job.yaml:7: spec.trainer.parallelism.context: must divide the number of ranks, which is "
     "workers.count times the ranks of each worker; those that parallelism.pipeline and tensor put "
     "together count as one (here 2 and 3: 1 or 3 would do)\n"},
    {"ContextNotDividingTheSequence", "sequence: 128}",
     "sequence: 126}\n    parallelism: {context: 2, contextExchange: Ring}",
     "job.yaml:10: spec.trainer.parallelism.context: must divide train.sequence: each rank "
     "has an equal part; tensor divides these parts again, and with contextExchange: Ring each is "
     "of "
     "two halves (here 126 must be a multiple of 2 x 1 x 2)\n"},
    {"ContextBeyondHeads", "{count: 2}\n  trainer:",
     "{count: 4, ranks: 2}\n  trainer:\n    parallelism: {context: 4, tensor: 2}",
     "job.yaml:7: spec.trainer.parallelism.context: context x tensor must divide the model's "
     "heads, "
     "which ranks exchange whole: contextExchange: Ring has no such limit (here 4 x 2 and 4)\n"},
    {"ContextOfATorchScriptModel", "{count: 2}\n  trainer:\n    model: {preset: gpt2-nano}",
     "{count: 2}\n  trainer:\n    parallelism: {context: 2}\n"
     "    model: {torchScript: model.pt, vocabulary: 256}",
     "job.yaml:7: spec.trainer.parallelism.context: a model of model.torchScript does not say how "
     "ranks can divide a sequence: leave context out\n"},
    {"ShardNotDividingTheTensorGroups", "{count: 2}\n  trainer:",
     "{count: 3, ranks: 2}\n  trainer:\n    parallelism: {zero: 1, shard: 2, tensor: 2}",
     "job.yaml:7: spec.trainer.parallelism.shard: must divide the number of ranks, which is "
     "workers.count times the ranks of each worker; those that work on one micro-batch "
     "together, by parallelism.pipeline, context and tensor, count as one (here 2 and 6 / 2 ranks: "
     "1 or 3 would do)\n"},
    {"MinShardAboveShard", "{name: adamw}",
     "{name: adamw}\n    parallelism: {zero: 1, shard: 2, minShard: 3}",
     "job.yaml:11: spec.trainer.parallelism.minShard: says how far shard may fall: set shard, and "
     "a "
     "minShard up to it\n"},
    {"OffloadedWeightsWithoutZero3", "{name: adamw}",
     "{name: adamw}\n    parallelism: {zero: 2, offload: {weights: Disk, directory: scratch}}",
     "job.yaml:11: spec.trainer.parallelism.offload.weights: weights can be kept on disk between "
     "their uses only where they are gathered for each use: set zero to 3\n"},
    {"RecomputeEveryWithoutRecompute", "{name: adamw}",
     "{name: adamw}\n    activations: {recomputeEvery: 2}",
     "job.yaml:11: spec.trainer.activations.recomputeEvery: says which blocks are computed again: "
     "set recompute to Full\n"},
    {"CompressOfBlocksThatKeepNothing", "{name: adamw}",
     "{name: adamw}\n    activations: {recompute: Full, compress: INT8}",
     "job.yaml:11: spec.trainer.activations.compress: blocks that are computed again keep nothing "
     "to compress: leave compress or recompute out, or set recomputeEvery to 2 or more\n"},
    {"CompressOfAScript", "    model: {preset: gpt2-nano}",
     "    activations: {compress: BF16}\n"
     "    model: {torchScript: model.pt, vocabulary: 256}",
     "job.yaml:7: spec.trainer.activations.compress: a model of model.torchScript does not say "
     "which of its tensors are activations: leave compress out; recompute needs less memory, "
     "too\n"},
    {"RoundedGradientsOfADeterministicRun", "sequence: 128}",
     "sequence: 128, deterministic: true}\n    communication: {gradients: INT8}",
     "job.yaml:10: spec.trainer.communication.gradients: rounded shares of a gradient add up to "
     "other bits on another number of ranks: leave gradients out, or train.deterministic\n"},
    {"RoundedWeightsWithoutZero3", "{name: adamw}",
     "{name: adamw}\n    communication: {weights: BF16}\n    parallelism: {zero: 2}",
     "job.yaml:11: spec.trainer.communication.weights: ranks send each other weights for use with "
     "parallelism.zero: 3 only: set it, or leave weights out\n"},
    {"AGroupThatChangesNothing", "{name: adamw}", "{name: adamw, groups: [{match: bias}]}",
     "job.yaml:10: spec.trainer.optimizer.groups[0].match: changes nothing: give rateFactor or "
     "weightDecay\n"},
    {"AGroupWithoutAnExpression", "{name: adamw}",
     "{name: adamw, groups: [{match: \"(\", rateFactor: 0}]}",
     "job.yaml:10: spec.trainer.optimizer.groups[0].match: is no regular expression in RE2 syntax "
     "(missing ): ()\n"},
    {"OffloadWithoutADirectory", "{name: adamw}",
     "{name: adamw}\n    parallelism: {offload: {optimizer: Disk}}",
     "job.yaml:11: spec.trainer.parallelism.offload.directory: what is kept on disk needs a "
     "directory: set it to one on a local disk of each node\n"},
    {"ScriptOnGpus", "{count: 2}\n  trainer:\n    model: {preset: gpt2-nano}",
     "{count: 2, gpus: 1}\n  trainer:\n    model: {torchScript: model.pt, vocabulary: 256}",
     "job.yaml:5: spec.workers.gpus: a model of trainer.model.torchScript computes on the CPU "
     "alone: leave workers.gpus out\n"},
    {"OffloadFromGpus", "{count: 2}\n  trainer:",
     "{count: 2, gpus: 1}\n  trainer:\n"
     "    parallelism: {offload: {optimizer: Disk, directory: scratch}}",
     "job.yaml:7: spec.trainer.parallelism.offload: the state of training on GPUs cannot rest in "
     "files: leave offload out, or workers.gpus\n"},
    {"MoreGpusThanMicroBatches", "{count: 2}", "{count: 2, gpus: 4}",
     "job.yaml:9: spec.trainer.train.globalBatch: every rank needs a micro-batch: the ranks of all "
     "workers (at workers.max) must not outnumber globalBatch / microBatch; those that "
     "work on one micro-batch together, by parallelism.pipeline, context and tensor, count as one "
     "(here 8 ranks and 8 / 2 = 4 "
     "micro-batches)\n"},
    {"FewerGpusInTheTemplate", "{count: 2}",
     "{count: 2, gpus: 2}\n  template: {spec: {containers: [{name: worker, "
     "resources: {limits: {nvidia.com/mig-1g.10gb: 1}}}]}}",
     "job.yaml:6: spec.template.spec.containers[0].resources.limits: here 1 GPUs, and workers.gpus "
     "is 2: each rank of the built-in trainer computes on one GPU, so let both be the same\n"},
    {"GpusOfAnotherMaker", "{count: 2}",
     "{count: 2, gpus: 2}\n  template: {spec: {containers: [{name: worker, "
     "resources: {limits: {amd.com/gpu: 2}}}]}}",
     "job.yaml:6: spec.template.spec.containers[0].resources.limits[\"amd.com/gpu\"]: the built-in "
     "trainer computes on NVIDIA's GPUs alone: leave the resource out, or give the template a "
     "command that uses it\n"},
    {"RdmaWithoutGpus", "{count: 2}", "{count: 2, rdma: {resources: [{name: rdma/hca}]}}",
     "job.yaml:5: spec.workers.rdma: without GPUs the built-in trainer communicates over TCP: set "
     "workers.gpus, leave workers.rdma out, or give the template a command that uses the "
     "devices\n"},
    {"BytesWithBpe", "uri: corpus.txt",
     "uri: corpus.txt, format: Bytes, tokenizer: {kind: Bpe, vocabulary: 1024}",
     "job.yaml:8: spec.trainer.data.tokenizer.kind: format Bytes is tokenized by kind Byte: leave "
     "the tokenizer out, or set format to Text\n"},
    {"TokensWithBpeToTrain", "{preset: gpt2-nano}\n    data: {uri: corpus.txt}",
     "{preset: gpt2-nano, vocabulary: 1000}\n    data: {uri: corpus.txt, format: Tokens, "
     "tokenizer: "
     "{kind: Bpe, vocabulary: 1024}}",
     "job.yaml:8: spec.trainer.data.tokenizer.vocabulary: no tokenizer is trained on format "
     "Tokens, which another one has made: give the uri of that, or leave the tokenizer out and set "
     "model.vocabulary\n"},
    {"ByteWithVocabulary", "uri: corpus.txt", "uri: corpus.txt, tokenizer: {vocabulary: 1024}",
     "job.yaml:8: spec.trainer.data.tokenizer.kind: kind Byte has a token for each byte and no "
     "file: leave "
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
    {"MinInModeSteps", "{uri: out}", "{uri: out, interval: {steps: 5, min: 1m}}",
     "job.yaml:11: spec.checkpoint.interval.min: only mode Auto has min\n"},
    {"MaxInModeTime", "{uri: out}", "{uri: out, interval: {mode: Time, time: 5m, max: 1h}}",
     "job.yaml:11: spec.checkpoint.interval.max: only mode Auto has max\n"},
    {"MinAboveMax", "{uri: out}", "{uri: out, interval: {mode: Auto, min: 2h, max: 1h}}",
     "job.yaml:11: spec.checkpoint.interval.min: must not be longer than max\n"},
    {"FloorAboveAllWorkers", "{count: 2}", "{count: 2, max: 3}\n  spot: {onDemandFloor: 4}",
     "job.yaml:6: spec.spot.onDemandFloor: must not be more than the workers that the job may "
     "have: "
     "workers.max or, without it, workers.count (here 4 and 3)\n"},
    {"FractionOfNoSpotNodes", "{count: 2}", "{count: 2}\n  spot: {allow: false, maxFraction: 0.5}",
     "job.yaml:6: spec.spot.allow: without spot nodes there is nothing to bound: leave maxFraction "
     "and onDemandFloor out, or set allow to true\n"},
    {"SparesAndGrowth", "{count: 2}", "{count: 2, max: 3, spares: 1}\n  elastic: {policy: Grow}",
     "job.yaml:5: spec.workers.spares: a job whose elastic.policy is Grow trains with all workers "
     "that it gets: leave one of the two out\n"},
    {"SparesOfALeader", "{count: 2}", "{count: 2, spares: 1}\n  successPolicy: Leader",
     "job.yaml:5: spec.workers.spares: with successPolicy Leader the end of worker 0 ends the job, "
     "whose place a spare could not take: leave one of the two out\n"},
    {"SparesInHalfASlice", "{count: 2}",
     "{count: 2, spares: 1}\n  topology: {slices: [{workers: 2, level: leaf}]}",
     "job.yaml:5: spec.workers.spares: pods are placed in whole slices: must be a multiple of the "
     "first slice's workers (here 1 and 2)\n"},
    {"CopiesOfWhatRestsOnDisk", "{name: adamw}\n  checkpoint: {uri: out}",
     "{name: adamw}\n    parallelism: {offload: {optimizer: Disk, directory: scratch}}\n  "
     "checkpoint: "
     "{uri: out, memory: {everySteps: 5, size: 1Gi}}",
     "job.yaml:12: spec.checkpoint.memory: state that rests on disk has no copies in memory: leave "
     "checkpoint.memory or trainer.parallelism.offload out\n"},
    {"DiskThatIsTheUri", "{uri: out}", "{uri: /out/, memory: {size: 1Gi, disk: {path: /out}}}",
     "job.yaml:11: spec.checkpoint.memory.disk.path: copies on the disks of nodes and checkpoints, "
     "which all workers share, need different folders: set path to a local one\n"},
    {"StoreOfADirectory", "{uri: out}", "{uri: out, s3: {region: eu-west-1}}",
     "job.yaml:11: spec.checkpoint.s3: only a uri that begins with s3:// has a store: leave s3 "
     "out, "
     "or set uri to s3://BUCKET/PREFIX\n"},
    {"BucketInCapitals", "{uri: out}", "{uri: 's3://Bucket/a'}",
     "job.yaml:11: spec.checkpoint.uri: must be s3://BUCKET/PREFIX, with the name of a bucket and "
     "without empty parts, \".\" and \"..\", and have at most 1000 characters (the bucket's name "
     "\"Bucket\" is not valid: it may have only lower-case letters, digits, '-' and '.')\n"},
    {"PrefixThatClimbs", "{uri: out}", "{uri: 's3://bucket/../a'}",
     "job.yaml:11: spec.checkpoint.uri: must be s3://BUCKET/PREFIX, with the name of a bucket and "
     "without empty parts, \".\" and \"..\", and have at most 1000 characters (the part after the "
     "bucket may have no empty part, no \".\" and no \"..\")\n"},
};

INSTANTIATE_TEST_SUITE_P(Contradictions, BadManifest, testing::ValuesIn(kContradictions), CaseName);

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

const ManifestCase kCommands[] = {
    {"StepDeadlineOfACommand", "300s", "1m", kCommandsSteps},
    {"RankDeadlineOfACommand", "stepDeadline: 300s", "rankDeadline: 3s", kCommandsSteps},
    {"LinkTestOfACommand", "{stepDeadline: 300s,",
     "{stepDeadline: 300s}\n  topology: {linkTest: Report}\n  activeDeadline: 1h #",
     "job.yaml:8: spec.topology.linkTest: muster does not see a command's connections: linkTest "
     "has "
     "an effect with trainer only, leave it out\n"},
    {"GrowthOfACommandWithoutMax", "stepDeadline: 300s", "policy: Grow",
     "job.yaml:7: spec.elastic.policy: the job grows up to workers.max and no further: set "
     "workers.max too, or leave policy out\n"},
    {"StoreOfACommand", "{uri: out}", "{uri: 's3://bucket/a', s3: {region: eu-west-1}}",
     kCommandsCheckpoints},
    {"KeepOfACommand", "{uri: out}", "{uri: out, keep: 4}", kCommandsCheckpoints},
    {"IntervalOfACommand", "{uri: out}", "{uri: out, interval: {mode: Time, time: 1m}}",
     kCommandsCheckpoints},
    {"StepsOfACommand", "{uri: out}", "{uri: out, interval: {steps: 10}}", kCommandsCheckpoints},
    {"OnDamageOfACommand", "{uri: out}", "{uri: out, onDamage: Hold}", kCommandsCheckpoints},
    {"CopiesOfACommand", "{uri: out}", "{uri: out, memory: {everySteps: 5, size: 1Gi}}",
     kCommandsCheckpoints},
    {"GiveUpOfACommand", "{uri: out}", "{uri: out, giveUp: '7@0123456789abcdef'}",
     kCommandsCheckpoints},
};

class BadCommand : public testing::TestWithParam<ManifestCase> {};

TEST_P(BadCommand, SaysWhatIsWrong) {
  const ManifestCase& c = GetParam();
  ASSERT_TRUE(absl::StrContains(kCommand, c.from));
  EXPECT_EQ(ManifestErrors(absl::StrReplaceAll(kCommand, {{c.from, c.to}})), c.errors);
}

TEST(GoodCommand, HasNoErrors) { EXPECT_EQ(ManifestErrors(kCommand), ""); }

INSTANTIATE_TEST_SUITE_P(Commands, BadCommand, testing::ValuesIn(kCommands), CaseName);

}  // namespace
}  // namespace muster::control
