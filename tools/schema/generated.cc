#include "tools/schema/generated.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "tools/schema/crd.h"
#include "tools/schema/reference.h"
#include "tools/schema/yaml_writer.h"

namespace muster::schema {
namespace {

// A kind and the files that are generated from it.
struct Source {
  const char* root;
  const char* crd;
  const char* reference;
  const char* checked_by;
};
constexpr Source kSources[] = {
    {"muster.v1alpha1.TrainingJob", "deploy/crd/muster.dev_trainingjobs.yaml", "docs/api.md",
     "`muster run`"},
    {"muster.v1alpha1.TrainingQueue", "deploy/crd/muster.dev_trainingqueues.yaml",
     "docs/api-queue.md", "`muster simulate`"},
};

}  // namespace

absl::StatusOr<std::vector<GeneratedFile>> GenerateFiles(const std::string& descriptor_set) {
  google::protobuf::FileDescriptorSet files;
  if (!files.ParseFromString(descriptor_set)) {
    return absl::InvalidArgumentError("not a descriptor set");
  }
  google::protobuf::DescriptorPool pool;
  for (const google::protobuf::FileDescriptorProto& file : files.file()) {
    if (pool.BuildFile(file) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("cannot build ", file.name()));
    }
  }
  std::vector<GeneratedFile> generated;
  for (const Source& source : kSources) {
    const google::protobuf::Descriptor* root = pool.FindMessageTypeByName(source.root);
    if (root == nullptr) return absl::NotFoundError(absl::StrCat("no message ", source.root));
    generated.push_back(
        {source.crd, absl::StrCat("# Generated from ", root->file()->name(),
                                  " by tools/generate.\n", WriteYaml(MakeCrd(*root)))});
    generated.push_back({source.reference, MakeReference(*root, source.checked_by)});
  }
  return generated;
}

}  // namespace muster::schema
