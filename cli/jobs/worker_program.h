#ifndef MUSTER_CLI_JOBS_WORKER_PROGRAM_H_
#define MUSTER_CLI_JOBS_WORKER_PROGRAM_H_

#include <string>
#include <vector>

#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::cli {

// The program of the template's container named `worker`: command, arguments and directory.
struct WorkerProgram {
  std::vector<std::string> words;
  std::string directory;  // workingDir; empty: the directory of `muster run`
};

// Empty if there is no such container, or if the template has another shape. Pure.
WorkerProgram ReadWorkerProgram(const v1alpha1::TrainingJobSpec& spec);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_WORKER_PROGRAM_H_
