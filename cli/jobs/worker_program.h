#ifndef MUSTER_CLI_JOBS_WORKER_PROGRAM_H_
#define MUSTER_CLI_JOBS_WORKER_PROGRAM_H_

#include <string>
#include <vector>

#include "base/files/files.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::cli {

// The program of the template's container named `worker`: command, arguments and directory.
struct WorkerProgram {
  std::vector<std::string> words;
  std::string directory;  // workingDir; empty: the directory of `muster run`
};

// Empty if there is no such container, or if the template has another shape. Pure.
WorkerProgram ReadWorkerProgram(const v1alpha1::TrainingJobSpec& spec);

// Returns a JSON object that maps the names of a command's scripts to hashes of their contents: the
// program itself if it is given by its path, and every file named by a word of the command, or of a
// shell line in it, with a script's first line (#!) or ending (.py, .sh, ...). Other files count as
// data, which a command may write itself. Relative names start at `directory`.
std::string ScriptHashes(const std::vector<std::string>& command, const std::string& directory,
                         Files& files);

}  // namespace muster::cli

#endif  // MUSTER_CLI_JOBS_WORKER_PROGRAM_H_
