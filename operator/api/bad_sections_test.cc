#include "gtest/gtest.h"
#include "operator/api/bad_manifest_fixture.h"

// Tests the sections of a job that have rules of their own: template, failure policy and topology.

namespace muster::control {
namespace {

const ManifestCase kTemplates[] = {
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
    {"GpusInTheTemplateAlone", "  checkpoint:",
     "  template: {spec: {containers: [{name: side, resources: {limits: {nvidia.com/gpu: 1}}}, "
     "{name: worker, resources: {limits: {cpu: 2, nvidia.com/gpu: 1}, "
     "requests: {nvidia.com/mig-1g.5gb: \"2\", amd.com/gpu: 1, gpu.intel.com/i915: 0}}}]}}\n"
     "  checkpoint:",
     "job.yaml:11: spec.template.spec.containers[1].resources.limits[\"nvidia.com/gpu\"]: without "
     "workers.gpus the built-in trainer computes on the CPU: set workers.gpus to the number of "
     "GPUs, or leave the resource out\n"
     "job.yaml:11: spec.template.spec.containers[1].resources.requests[\"amd.com/gpu\"]: the "
     "built-in trainer computes on NVIDIA's GPUs alone: leave the resource out, or give the "
     "template a command that uses it\n"
     "job.yaml:11: spec.template.spec.containers[1].resources.requests[\"nvidia.com/mig-1g.5gb\"]: "
     "without workers.gpus the built-in trainer computes on the CPU: set workers.gpus to the "
     "number "
     "of GPUs, or leave the resource out\n"},
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

INSTANTIATE_TEST_SUITE_P(Templates, BadManifest, testing::ValuesIn(kTemplates), CaseName);

const ManifestCase kFailurePolicy[] = {
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

INSTANTIATE_TEST_SUITE_P(FailurePolicy, BadManifest, testing::ValuesIn(kFailurePolicy), CaseName);

const ManifestCase kAlerts[] = {
    {"AlertEmpty", "  checkpoint:", "  alerts: [{}]\n  checkpoint:",
     "job.yaml:11: spec.alerts[0].kind: is required and missing; want LossNotFalling, LossSpike, "
     "ThroughputDrop or Stalled\n"
     "job.yaml:11: spec.alerts[0].name: is required and missing\n"},
    {"AlertWithoutBlock",
     "  checkpoint:", "  alerts: [{name: spike, kind: LossSpike}]\n  checkpoint:",
     "job.yaml:11: spec.alerts[0].lossSpike: kind LossSpike needs lossSpike, which may be {}, and "
     "only it has it\n"},
    {"AlertWithBlockOfAnotherKind", "  checkpoint:",
     "  alerts: [{name: a, kind: Stalled, stalled: {}, throughputDrop: {}}]\n  checkpoint:",
     "job.yaml:11: spec.alerts[0].throughputDrop: kind ThroughputDrop needs throughputDrop, which "
     "may be {}, and only it has it\n"},
    {"AlertNamesTaken", "  checkpoint:",
     "  alerts: [{name: a, kind: Stalled, stalled: {}}, {name: a, kind: LossSpike, lossSpike: "
     "{}}]\n  checkpoint:",
     "job.yaml:11: spec.alerts[1]: \"a\" is listed twice\n"},
    {"AlertNameNoLabel",
     "  checkpoint:", "  alerts: [{name: A b, kind: Stalled, stalled: {}}]\n  checkpoint:",
     "job.yaml:11: spec.alerts[0].name: want text like ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$, got the "
     "string \"A b\"\n"},
    {"AlertReceiverIsUrl", "  checkpoint:",
     "  alerts: [{name: a, kind: Stalled, stalled: {}, receiver: \"http://x\"}]\n  checkpoint:",
     "job.yaml:11: spec.alerts[0].receiver: want text like ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$, got "
     "the string \"http://x\"\n"},
    {"AlertWithoutEvaluations", "  checkpoint:",
     "  alerts: [{name: a, kind: LossNotFalling, lossNotFalling: {evaluations: 0}}]\n  "
     "checkpoint:",
     "job.yaml:11: spec.alerts[0].lossNotFalling.evaluations: is 0; want 1 to 1000\n"},
    {"AlertFactorOfSpikeTooSmall", "  checkpoint:",
     "  alerts: [{name: a, kind: LossSpike, lossSpike: {factor: 1}}]\n  checkpoint:",
     "job.yaml:11: spec.alerts[0].lossSpike.factor: is 1; want more than 1 and at most 1000000\n"},
    {"AlertFactorOfDropTooLarge", "  checkpoint:",
     "  alerts: [{name: a, kind: ThroughputDrop, throughputDrop: {factor: 1}}]\n  checkpoint:",
     "job.yaml:11: spec.alerts[0].throughputDrop.factor: is 1; want more than 0 and less than "
     "1\n"},
    {"AlertForIsNoDuration",
     "  checkpoint:", "  alerts: [{name: a, kind: Stalled, stalled: {for: 0s}}]\n  checkpoint:",
     "job.yaml:11: spec.alerts[0].stalled.for: the string \"0s\" is not a positive duration; want "
     "one like 90s, 10m or 1h30m\n"},
    {"AlertActionUnknown", "  checkpoint:",
     "  alerts: [{name: a, kind: Stalled, stalled: {}, action: Stop}]\n  checkpoint:",
     "job.yaml:11: spec.alerts[0].action: want Notify or Suspend, got the string \"Stop\"\n"},
};

INSTANTIATE_TEST_SUITE_P(Alerts, BadManifest, testing::ValuesIn(kAlerts), CaseName);

const ManifestCase kTopology[] = {
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

INSTANTIATE_TEST_SUITE_P(Topology, BadManifest, testing::ValuesIn(kTopology), CaseName);

}  // namespace
}  // namespace muster::control
