#ifndef MUSTER_TRAINER_CHECKPOINT_READER_H_
#define MUSTER_TRAINER_CHECKPOINT_READER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/files/files.h"
#include "base/mutex.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/slice_elements.h"

namespace muster::trainer {

// Reads a complete checkpoint. Tensors are read by name, independently of the writers and slices
// that saved them; every piece of a slice that is read is checked against its checksum.
// Thread-safe.
class CheckpointReader {
 public:
  // `path` is the checkpoint's own directory. DataLoss if it is not complete (no DONE, or DONE is
  // of another manifest), InvalidArgument if the manifest is malformed; else the file system's
  // error.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> Open(Files& files,
                                                                const std::string& path);

  const Manifest& manifest() const { return manifest_; }
  const std::string& path() const { return path_; }

  // Fills `into` with the whole tensor. FailedPrecondition if the checkpoint has no tensor of this
  // name, type and shape; DataLoss if a checksum does not match; else the file system's error.
  absl::Status Read(const std::string& name, DataType type, const std::vector<int64_t>& shape,
                    std::span<std::byte> into) const;
  // Fills `into` with a run of the tensor's elements in row-major order, from `begin` on. Reads
  // only the pieces of slices that have a part in it.
  absl::Status ReadPart(const std::string& name, DataType type, const std::vector<int64_t>& shape,
                        uint64_t begin, std::span<std::byte> into) const;
  // Does the same for a run of the elements of `stripes`, which lie in the tensor.
  absl::Status ReadStripes(const std::string& name, DataType type,
                           const std::vector<int64_t>& shape, const Stripes& stripes,
                           uint64_t begin, std::span<std::byte> into) const;
  // Returns a document saved beside the tensors, e.g. tokenizer.json. NotFound if the manifest does
  // not name it; DataLoss if it is missing or its checksum does not match.
  absl::StatusOr<std::string> ReadDocument(const std::string& name) const;

 private:
  CheckpointReader(Files& files, std::string path, Manifest manifest);
  absl::StatusOr<const ReadableFile*> FileNamed(const std::string& name) const;
  absl::StatusOr<const TensorRecord*> FindTensor(const std::string& name, DataType type,
                                                 const std::vector<int64_t>& shape) const;
  uint64_t PieceBytes(const TensorRecord& tensor, const TensorSlice& slice) const;
  absl::Status ReadPieces(const TensorRecord& tensor, const TensorSlice& slice, uint64_t first,
                          uint64_t last, char* into) const;
  absl::Status ReadBytes(const TensorRecord& tensor, const TensorSlice& slice, uint64_t begin,
                         std::span<char> into) const;
  absl::Status ReadSlice(const TensorRecord& tensor, const TensorSlice& slice,
                         const Stripes& wanted, uint64_t begin, std::span<std::byte> into) const;

  Files& files_;
  const std::string path_;
  const Manifest manifest_;
  mutable Mutex mu_;
  mutable std::map<std::string, std::unique_ptr<ReadableFile>> open_ MUSTER_GUARDED_BY(mu_);
};

// Returns OK if a run of this model and vocabulary can go on from that checkpoint, else
// FailedPrecondition with the difference in one sentence. Compares the numbers, strings and objects
// of `model` that shape the weights; dropout, torch_dtype and special tokens, for example, may
// differ.
absl::Status CheckCompatible(const RunRecord& saved, const Json& model, int64_t vocabulary,
                             const std::string& tokenizer_checksum);

// Returns OK if the checkpoint holds the tensors `wanted` (their names, types and shapes) and no
// others: another optimizer has other state. FailedPrecondition names the first that differs.
absl::Status CheckTensors(const Manifest& saved, const std::vector<TensorRecord>& wanted);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_READER_H_
