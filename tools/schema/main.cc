// Generates files from training_job.proto and training_queue.proto into the working tree; run by
// tools/generate.
//
// 1. read the descriptor set from the runfiles, 2. generate, 3. write below
// $BUILD_WORKSPACE_DIRECTORY.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/schema/generated.h"

int main() {
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  if (workspace == nullptr) {
    std::cerr << "run this as tools/generate\n";
    return 2;
  }
  std::ifstream in(muster::schema::kDescriptorPath, std::ios::binary);
  std::stringstream descriptor_set;
  descriptor_set << in.rdbuf();
  const absl::StatusOr<std::vector<muster::schema::GeneratedFile>> files =
      muster::schema::GenerateFiles(descriptor_set.str());
  if (!files.ok()) {
    std::cerr << files.status() << "\n";
    return 1;
  }
  for (const muster::schema::GeneratedFile& file : *files) {
    std::ofstream out(std::string(workspace) + "/" + file.path, std::ios::binary);
    out << file.text;
    out.close();
    if (!out) {
      std::cerr << "cannot write " << file.path << "\n";
      return 1;
    }
    std::cout << "wrote " << file.path << "\n";
  }
  return 0;
}
