#ifndef MUSTER_TOOLS_SCHEMA_GENERATED_H_
#define MUSTER_TOOLS_SCHEMA_GENERATED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::schema {

struct GeneratedFile {
  std::string path;  // from the root of the repository
  std::string text;
};

// Path of the descriptor set, relative to the root of the repository or of a program's runfiles.
inline constexpr char kDescriptorPath[] = "proto/muster/v1alpha1/training_queue.desc";

// Generates every file that is made from training_job.proto and training_queue.proto.
// `descriptor_set` is protoc's output with imports and source info. Thread-safe.
absl::StatusOr<std::vector<GeneratedFile>> GenerateFiles(const std::string& descriptor_set);

}  // namespace muster::schema

#endif  // MUSTER_TOOLS_SCHEMA_GENERATED_H_
