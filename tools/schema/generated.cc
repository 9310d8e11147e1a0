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

constexpr char kRoot[] = "muster.v1alpha1.TrainingJob";
constexpr char kCrdHeader[] =
    "# Generated from proto/muster/v1alpha1/training_job.proto by tools/generate.\n";

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
  const google::protobuf::Descriptor* root = pool.FindMessageTypeByName(kRoot);
  if (root == nullptr) return absl::NotFoundError(absl::StrCat("no message ", kRoot));
  return std::vector<GeneratedFile>{
      {"deploy/crd/muster.dev_trainingjobs.yaml",
       absl::StrCat(kCrdHeader, WriteYaml(MakeCrd(*root)))},
      {"docs/api.md", MakeReference(*root)},
  };
}

}  // namespace muster::schema
