#ifndef MUSTER_TRAINER_CHECKPOINT_PRETRAINED_H_
#define MUSTER_TRAINER_CHECKPOINT_PRETRAINED_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "base/json.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/checkpoint/weight_index.h"

namespace muster::trainer {

// A tensor of a model, as Hugging Face names it.
struct WantedTensor {
  std::string name;
  std::vector<int64_t> shape;
};

// The weights of a model in a directory as Hugging Face keeps them: config.json, and
// model.safetensors or the files that model.safetensors.index.json lists. The values are not
// verified, because the files have no checksums. A tensor is found under its name with or without
// the prefix that language models put before the names of the model inside, as in
// transformer.wte.weight. Holds no file open. Thread-safe once AlsoUnder() is no longer called.
class PretrainedWeights {
 public:
  // Reads the config and the header of every file. InvalidArgument if the contents do not fit
  // together, else the file system's error. Messages name the file.
  static absl::StatusOr<std::unique_ptr<PretrainedWeights>> Open(Files& files,
                                                                 const std::string& path);

  const std::string& path() const { return path_; }
  const Json& config() const { return config_; }
  size_t size() const { return tensors_.size(); }  // number of tensors

  // Makes the tensor `other` found as `name`, too, unless a tensor has that name.
  void AlsoUnder(const std::string& name, const std::string& other);

  // Returns OK if the directory has the wanted tensors, each in its shape and of a floating-point
  // type, and no others except buffers that are known to hold no weights. InvalidArgument names the
  // tensors that are missing, wrong or unknown, up to 8 of each.
  absl::Status Check(std::span<const WantedTensor> wanted) const;

  // Fills `into` with a run of the tensor's elements in row-major order, from `begin` on, converted
  // to `type`: F32 or F64. Reads their bytes only. FailedPrecondition if there is no such tensor of
  // this shape; DataLoss if its file has changed since it was opened; else the file system's error.
  absl::Status ReadPart(const std::string& name, DataType type, const std::vector<int64_t>& shape,
                        uint64_t begin, std::span<std::byte> into) const;

 private:
  // A tensor's place in a file.
  struct Stored {
    StoredTensor tensor;
    std::string file;
    uint64_t file_bytes = 0;
  };

  PretrainedWeights(Files& files, std::string path) : files_(files), path_(std::move(path)) {}
  absl::Status ReadConfig();
  absl::Status ReadHeaders();
  absl::Status ReadHeader(const std::string& file, const WeightIndex& index);
  const Stored* Find(const std::string& name) const;

  Files& files_;
  const std::string path_;
  Json config_;
  std::map<std::string, Stored> tensors_;  // by name
  // Names of tensors that are stored under another name: safetensors' save_model writes a tensor
  // that has several names once.
  std::map<std::string, std::string> other_names_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_PRETRAINED_H_
