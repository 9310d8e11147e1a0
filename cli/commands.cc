#include "cli/commands.h"

#include <cstdio>

#include "base/exit_codes.h"

namespace muster::cli {
namespace {

// The commands about a job, in the order of its life.
std::vector<Command> JobCommands() {
  return {
      {"run", "run FILE [--fresh] [--detach]", "train the job of a manifest on this machine",
       &RunMain, &RunFlags},
      {"get", "get [JOB] [--json]", "list jobs, or show one", &GetMain, &GetFlags, {}, Names::kJob},
      {"describe",
       "describe [JOB]",
       "show everything known about one job",
       &DescribeMain,
       &GetFlags,
       {},
       Names::kJob},
      {"events",
       "events [JOB] [--json]",
       "list what happened to a job, oldest first",
       &EventsMain,
       &GetFlags,
       {},
       Names::kJob},
      {"logs",
       "logs [JOB] [--worker N] [--rank N] [--follow]",
       "print the workers' logs",
       &LogsMain,
       &LogsFlags,
       {},
       Names::kJob},
      {"tune",
       "tune JOB NAME=NUMBER... [--from-step N] [--wait]",
       "change the learningRate, clipNorm or globalBatch of a job while it trains",
       &TuneMain,
       &TuneFlags,
       {},
       Names::kJob},
      {"stop",
       "stop JOB [--kubeconfig FILE]",
       "save a checkpoint and suspend a running job",
       &StopMain,
       &StopFlags,
       {},
       Names::kJob},
      {"resume",
       "resume [JOB] [--kubeconfig FILE]",
       "continue a suspended job",
       &ResumeMain,
       &ResumeFlags,
       {},
       Names::kJob},
      {"delete",
       "delete JOB",
       "forget a job that does not run; its checkpoints are kept",
       &DeleteMain,
       &DeleteFlags,
       {},
       Names::kJob},
      {"checkpoints",
       "checkpoints [prune | export --out DIR] [JOB | --dir DIR] [--step N] [--dry-run] [--json]",
       "list a job's checkpoints; prune deletes those of runs that were given up, export writes "
       "the model of one for transformers",
       &CheckpointsMain,
       &CheckpointsFlags,
       {"prune", "export"},
       Names::kJob},
      {"generate",
       "generate [JOB | --dir DIR] [--prompt TEXT]",
       "continue a text with the model of a job's newest checkpoint",
       &GenerateMain,
       &GenerateFlags,
       {},
       Names::kJob},
  };
}

// The commands about placement and queues, and about the tool itself.
std::vector<Command> OtherCommands() {
  return {
      {"plan", "plan FILE [--cluster FILE] [--gpus N] [--device NAME] [--json]",
       "search for the layout with which a job's steps are shortest, and show what it would take",
       &PlanMain, &PlanFlags},
      {"simulate", "simulate --trace FILE [--cluster FILE] [--svg FILE]",
       "show what the operator would do with a workload on a cluster", &SimulateMain,
       &SimulateFlags},
      {"replay", "replay [DECISION] [--job JOB | --dir DIR] [--json]",
       "repeat recorded decisions of the scheduler, and compare the results", &ReplayMain,
       &ReplayFlags},
      {"explain",
       "explain [JOB] [--server URL | --cluster FILE] [--json]",
       "show where a job's workers are, or why they wait, what would help and when it starts",
       &ExplainMain,
       &ExplainFlags,
       {},
       Names::kJob},
      {"whatif",
       "whatif -f FILE [--job JOB | --server URL | --cluster FILE] [--json]",
       "show where the job of a manifest would go, when, and which jobs would make room",
       &WhatIfMain,
       &WhatIfFlags,
       {"-f"}},
      {"tree", "tree [--job JOB | --server URL | --cluster FILE] [--depth N] [--svg FILE] [--json]",
       "show the cluster's topology with the free resources of each domain", &TreeMain, &TreeFlags},
      {"queue", "queue [QUEUE] [--job JOB | --server URL] [--limit N] [--json]",
       "show the queues, their shares, and their waiting jobs in order, each with the reason",
       &QueueMain, &QueueFlags},
      {"completion",
       "completion bash|zsh|fish",
       "print a script that completes commands, flags and jobs: source <(muster completion bash)",
       &CompletionMain,
       &CompletionFlags,
       {"bash", "zsh", "fish"}},
  };
}

}  // namespace

const std::vector<Command>& Commands() {
  static const auto* commands = [] {
    auto* all = new std::vector<Command>(JobCommands());
    for (const Command& command : OtherCommands()) all->push_back(command);
    return all;
  }();
  return *commands;
}

int Fail(const absl::Status& status) {
  if (absl::IsCancelled(status)) {
    std::printf("%s", std::string(status.message()).c_str());
    return kExitOk;
  }
  std::fprintf(stderr, "muster: %s\n", std::string(status.message()).c_str());
  const bool mendable = absl::IsInvalidArgument(status) || absl::IsNotFound(status);
  return mendable ? kExitBadInput : kExitFailed;
}

}  // namespace muster::cli
