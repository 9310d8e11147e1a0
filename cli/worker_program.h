#ifndef MUSTER_CLI_WORKER_PROGRAM_H_
#define MUSTER_CLI_WORKER_PROGRAM_H_

#include <string>
#include <vector>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::cli {

// What the template's container named `worker` runs: its command with the arguments, and where.
struct WorkerProgram {
  std::vector<std::string> words;
  std::string directory;  // workingDir; empty: where `muster run` was called
};

// Empty without such a container, or where the template is of another shape. Pure.
WorkerProgram ReadWorkerProgram(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::cli

#endif  // MUSTER_CLI_WORKER_PROGRAM_H_
