#ifndef MUSTER_TRAINER_CHECKPOINT_MANIFEST_H_
#define MUSTER_TRAINER_CHECKPOINT_MANIFEST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/json.h"
#include "trainer/checkpoint/data_type.h"

namespace muster::trainer {

// A box of a tensor, in row-major order; the whole tensor if start and lengths are empty.
struct TensorBox {
  // The shape that start and lengths are of, if that is not the tensor's: one of as many elements
  // in the same order. So a fused layer's box has a part of each of its blocks.
  std::vector<int64_t> view = {};
  std::vector<int64_t> start = {};
  std::vector<int64_t> lengths = {};

  bool whole() const { return lengths.empty(); }
  bool operator==(const TensorBox&) const = default;
};

// A part of a tensor as one file holds it: the elements [begin, begin + count) of a box. ZeRO makes
// flat ranges, tensor parallelism makes boxes.
struct TensorSlice {
  std::string file;
  uint64_t offset = 0;  // bytes from the start of the file
  uint64_t begin = 0;   // elements
  uint64_t count = 0;
  TensorBox box = {};
  std::vector<uint64_t> checksums = {};  // XXH3, 64 bits, of each of its pieces (pieces.h)
};

struct TensorRecord {
  std::string name;
  DataType type = DataType::kF32;
  std::vector<int64_t> shape;  // of the whole tensor
  std::vector<TensorSlice> slices;
};

struct FileRecord {
  std::string name;
  uint64_t bytes = 0;
  std::string checksum;  // XXH3, 128 bits, hex
};

// A change of the run while it trained, in force from `step` on.
struct TuningRecord {
  int64_t step = 0;
  std::optional<double> learning_rate;
  std::optional<double> clip_norm;
  bool operator==(const TuningRecord&) const = default;
};

// The newest steps, oldest first, by which later ones are judged, and the spikes among them.
struct WatchRecord {
  std::vector<double> losses;  // at most 64
  std::vector<double> norms;   // as many
  int64_t in_row = 0;
  int64_t total = 0;
  double rate_factor = 1.0;
  bool operator==(const WatchRecord&) const = default;
};

// A checkpoint's record of the run, besides its tensors. Parts that this file does not interpret
// are kept as JSON.
struct RunRecord {
  std::string job;
  std::string job_uid;
  std::string history;  // identifies the run from its initial weights on; empty in older manifests
  int64_t step = 0;
  int64_t attempt = 0;
  int64_t term = 0;
  int64_t round = 0;
  int64_t updates = 0;  // optimizer updates applied; skipped steps do not count
  int64_t writers = 1;
  // The ranks that are left save without the round; not in the manifest.
  bool after_round = false;
  uint64_t seed = 0;
  int64_t data_position = 0;  // samples consumed: where the next step begins
  // Steps skipped because they were not finite. Older manifests lack them: 0.
  int64_t skipped_in_row = 0;
  int64_t skipped_total = 0;
  // The loss scale of the next step, and the good steps since it changed. 0: it is not known, or
  // the run scales no loss, and the manifest has neither.
  int64_t loss_scale = 0;
  int64_t good_steps = 0;
  int64_t vocabulary = 0;
  std::string tokenizer_checksum;    // XXH3 of tokenizer.json; empty without a tokenizer
  std::string data_checksum;         // of the training tokens; empty: not compared
  std::string created;               // RFC 3339
  Json layout = Json::object();      // {"data": 2, ...}
  Json model = Json::object();       // config.json
  Json random = Json::object();      // the generator, and the settings of deterministic mode
  std::vector<TuningRecord> tuning;  // oldest first, at most 64
  WatchRecord watch;                 // missing in the manifest if the run was never watched
};

struct Manifest {
  RunRecord run;
  uint64_t piece_bytes = 0;           // of slices; 0: each is one piece, as in format 1
  std::vector<FileRecord> files;      // by name
  std::vector<TensorRecord> tensors;  // by name

  // Null if there is no tensor of this name. The tensors must be sorted.
  const TensorRecord* Find(std::string_view name) const;
};

// Returns true for a weight of the model, false for the optimizer's state.
bool IsWeight(const TensorRecord& tensor);

// Sorts files and tensors by name.
void SortManifest(Manifest& manifest);

// The newest format, which has pieces. A manifest without them is of format 1.
inline constexpr int kManifestFormat = 2;
// The longest manifest or sidecar that is read, in bytes.
inline constexpr size_t kMaxManifestBytes = size_t{512} << 20;

// Parses untrusted bytes. Returns InvalidArgument, with the place, if a field is missing, of the
// wrong type or out of range; if a file name leaves the directory; if a slice lies outside its file
// or tensor, or has not one checksum for each piece; or if a tensor's slices overlap or leave a
// gap. Unimplemented if the format is newer than kManifestFormat.
absl::StatusOr<Manifest> ParseManifest(std::string_view text);
std::string FormatManifest(const Manifest& manifest);

// Parses and formats one writer's share, before writer 0 joins them: a manifest whose slices need
// not cover the tensors.
absl::StatusOr<Manifest> ParseSidecar(std::string_view text);
std::string FormatSidecar(const Manifest& part);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_CHECKPOINT_MANIFEST_H_
