#include "trainer/checkpoint/manifest.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/checkpoint/checkpoint_history.h"
#include "base/status_macros.h"
#include "trainer/checkpoint/pieces.h"

namespace muster::trainer {
namespace {

constexpr size_t kMaxDimensions = 16;
constexpr size_t kMaxBoxes = 1024;
// The largest loss scale that a run reaches (trainer/commit/loss_scale.h).
constexpr uint64_t kMostLossScale = uint64_t{1} << 24;
// The most that a run remembers (trainer/commit/tunings.h, spike_watch.h).
constexpr size_t kMostTunings = 64;
constexpr size_t kMostWatched = 64;

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("manifest: ", what));
}

// One object of the document, with its place for messages. The first error stays in `status`;
// values that are read after it are meaningless.
class Object {
 public:
  Object(const Json& json, std::string place, absl::Status& status)
      : json_(json), place_(std::move(place)), status_(status) {
    if (!json_.is_object()) Fail("must be an object");
  }

  const Json& Get(const char* name) {
    static const Json* const null = new Json(nullptr);
    if (!json_.is_object() || !json_.contains(name)) {
      Fail(absl::StrCat(name, " is missing"));
      return *null;
    }
    return json_[name];
  }
  std::string Text(const char* name) {
    const Json& value = Get(name);
    if (value.is_string()) return value.get<std::string>();
    Fail(absl::StrCat(name, " must be a string"));
    return "";
  }
  uint64_t Unsigned(const char* name) {
    const Json& value = Get(name);
    if (value.is_number_unsigned()) return value.get<uint64_t>();
    Fail(absl::StrCat(name, " must be an integer of at least 0"));
    return 0;
  }
  int64_t Count(const char* name) {
    const uint64_t value = Unsigned(name);
    if (value <= INT64_MAX) return static_cast<int64_t>(value);
    Fail(absl::StrCat(name, " is too large"));
    return 0;
  }
  std::vector<int64_t> Dimensions(const char* name) {
    const Json& value = Get(name);
    std::vector<int64_t> dimensions;
    bool good = value.is_array() && value.size() <= kMaxDimensions;
    for (size_t i = 0; good && i < value.size(); ++i) {
      good = value[i].is_number_unsigned() && value[i].get<uint64_t>() <= INT64_MAX;
      if (good) dimensions.push_back(value[i].get<int64_t>());
    }
    if (!good) Fail(absl::StrCat(name, " must be a list of at most 16 integers of at least 0"));
    return dimensions;
  }
  const Json& List(const char* name) {
    static const Json* const empty = new Json(Json::array());
    const Json& value = Get(name);
    if (value.is_array()) return value;
    Fail(absl::StrCat(name, " must be a list"));
    return *empty;
  }
  // Not an infinity or NaN, which JSON cannot say.
  double Number(const char* name) {
    const Json& value = Get(name);
    if (value.is_number()) return value.get<double>();
    Fail(absl::StrCat(name, " must be a number"));
    return 0.0;
  }
  std::vector<double> Numbers(const char* name, size_t most) {
    const Json& list = List(name);
    std::vector<double> numbers;
    bool good = list.size() <= most;
    for (size_t i = 0; good && i < list.size(); ++i) {
      good = list[i].is_number();
      if (good) numbers.push_back(list[i].get<double>());
    }
    if (!good) Fail(absl::StrCat(name, " must be a list of at most ", most, " numbers"));
    return numbers;
  }
  bool Has(const char* name) const { return json_.is_object() && json_.contains(name); }
  const std::string& place() const { return place_; }
  void Fail(const std::string& what) {
    if (status_.ok()) status_ = Bad(absl::StrCat(place_, ": ", what));
  }

 private:
  const Json& json_;
  const std::string place_;
  absl::Status& status_;
};

void ReadLossScale(Object& run, RunRecord& record) {
  record.loss_scale = run.Count("loss_scale");
  record.good_steps = run.Count("good_steps");
  const auto scale = static_cast<uint64_t>(record.loss_scale);
  if (!std::has_single_bit(scale) || scale > kMostLossScale) {
    run.Fail(absl::StrCat("loss_scale must be a power of two from 1 to ", kMostLossScale));
  }
}

TuningRecord ReadTuning(Object json) {
  TuningRecord tuning{.step = json.Count("step")};
  if (json.Has("learning_rate")) tuning.learning_rate = json.Number("learning_rate");
  if (json.Has("clip_norm")) tuning.clip_norm = json.Number("clip_norm");
  return tuning;
}

WatchRecord ReadWatch(Object json) {
  WatchRecord watch{.losses = json.Numbers("losses", kMostWatched),
                    .norms = json.Numbers("norms", kMostWatched),
                    .in_row = json.Count("in_row"),
                    .total = json.Count("total"),
                    .rate_factor = json.Number("rate_factor")};
  if (watch.losses.size() != watch.norms.size()) json.Fail("losses and norms must be equally long");
  if (!(watch.rate_factor > 0.0 && watch.rate_factor <= 1.0)) {
    json.Fail("rate_factor must be above 0 and at most 1");
  }
  return watch;
}

Json WriteTuning(const TuningRecord& tuning) {
  Json json = {{"step", tuning.step}};
  if (tuning.learning_rate.has_value()) json["learning_rate"] = *tuning.learning_rate;
  if (tuning.clip_norm.has_value()) json["clip_norm"] = *tuning.clip_norm;
  return json;
}

Json WriteWatch(const WatchRecord& watch) {
  return {{"losses", watch.losses},
          {"norms", watch.norms},
          {"in_row", watch.in_row},
          {"total", watch.total},
          {"rate_factor", watch.rate_factor}};
}

RunRecord ReadRun(const Json& json, absl::Status& status) {
  Object run(json, "run", status);
  RunRecord record;
  record.job = run.Text("job");
  record.job_uid = run.Text("job_uid");
  record.step = run.Count("step");
  record.attempt = run.Count("attempt");
  record.term = run.Count("term");
  record.round = run.Count("round");
  record.updates = run.Count("updates");
  record.writers = run.Count("writers");
  record.seed = run.Unsigned("seed");
  record.data_position = run.Count("data_position");
  if (run.Has("skipped_total")) {
    record.skipped_in_row = run.Count("skipped_in_row");
    record.skipped_total = run.Count("skipped_total");
  }
  if (run.Has("loss_scale")) ReadLossScale(run, record);
  record.vocabulary = run.Count("vocabulary");
  record.tokenizer_checksum = run.Text("tokenizer_checksum");
  record.created = run.Text("created");
  if (run.Has("history")) record.history = run.Text("history");
  if (!record.history.empty() && !IsHistoryId(record.history)) {
    run.Fail("history must be 16 hexadecimal digits, or empty");
  }
  if (run.Has("data_checksum")) record.data_checksum = run.Text("data_checksum");
  record.layout = run.Get("layout");
  record.model = run.Get("model");
  record.random = run.Get("random");
  if (!record.layout.is_object() || !record.model.is_object() || !record.random.is_object()) {
    run.Fail("layout, model and random must be objects");
  }
  const Json& tunings = run.List("tuning");
  if (tunings.size() > kMostTunings) {
    run.Fail(absl::StrCat("tuning must be a list of at most ", kMostTunings));
    return record;
  }
  for (const Json& tuning : tunings) {
    record.tuning.push_back(ReadTuning(Object(tuning, "run.tuning", status)));
  }
  if (run.Has("watch")) record.watch = ReadWatch(Object(run.Get("watch"), "run.watch", status));
  return record;
}

Json WriteRun(const RunRecord& run) {
  Json json = {{"job", run.job},
               {"job_uid", run.job_uid},
               {"history", run.history},
               {"step", run.step},
               {"attempt", run.attempt},
               {"term", run.term},
               {"round", run.round},
               {"updates", run.updates},
               {"writers", run.writers},
               {"seed", run.seed},
               {"data_position", run.data_position},
               {"skipped_in_row", run.skipped_in_row},
               {"skipped_total", run.skipped_total},
               {"vocabulary", run.vocabulary},
               {"tokenizer_checksum", run.tokenizer_checksum},
               {"data_checksum", run.data_checksum},
               {"created", run.created},
               {"layout", run.layout},
               {"model", run.model},
               {"random", run.random},
               {"tuning", Json::array()}};
  for (const TuningRecord& tuning : run.tuning) json["tuning"].push_back(WriteTuning(tuning));
  if (run.watch != WatchRecord()) json["watch"] = WriteWatch(run.watch);
  if (run.loss_scale > 0) {
    json["loss_scale"] = run.loss_scale;
    json["good_steps"] = run.good_steps;
  }
  return json;
}

bool IsPlainName(const std::string& name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

// The field with the checksums of a slice's pieces. Format 1 has one, of all of its bytes.
const char* ChecksumsName(uint64_t piece_bytes) {
  return piece_bytes == 0 ? "checksum" : "checksums";
}

using FileSizes = std::map<std::string, uint64_t>;

FileSizes ReadFiles(Object& root, Manifest& manifest, absl::Status& status) {
  FileSizes sizes;
  const Json& list = root.List("files");
  for (size_t i = 0; i < list.size() && status.ok(); ++i) {
    Object file(list[i], absl::StrCat("files[", i, "]"), status);
    FileRecord record{file.Text("name"), file.Unsigned("bytes"), file.Text("checksum")};
    if (!IsPlainName(record.name)) file.Fail("name leaves the directory");
    if (!sizes.emplace(record.name, record.bytes).second) file.Fail("name is given twice");
    manifest.files.push_back(std::move(record));
  }
  return sizes;
}

std::vector<uint64_t> ReadChecksums(Object& slice, uint64_t bytes, uint64_t piece_bytes) {
  const char* const name = ChecksumsName(piece_bytes);
  const uint64_t pieces = PieceCount(bytes, piece_bytes);
  std::optional<std::vector<uint64_t>> checksums = ParseChecksums(slice.Text(name));
  if (checksums.has_value() && checksums->size() == pieces) return *std::move(checksums);
  slice.Fail(absl::StrCat(name, " must have 16 hexadecimal digits for each of ", pieces,
                          pieces == 1 ? " piece" : " pieces"));
  return {};
}

TensorBox ReadBox(Object& slice, const TensorRecord& tensor, uint64_t whole) {
  TensorBox box = {.start = slice.Dimensions("start"), .lengths = slice.Dimensions("lengths")};
  if (slice.Has("view")) {
    box.view = slice.Dimensions("view");
    if (ElementCount(box.view) != whole) slice.Fail("view has not as many elements as the tensor");
  }
  const std::vector<int64_t>& shape = box.view.empty() ? tensor.shape : box.view;
  bool inside = box.start.size() == shape.size() && box.lengths.size() == shape.size();
  for (size_t d = 0; inside && d < shape.size(); ++d) {
    inside = box.start[d] <= shape[d] && box.lengths[d] <= shape[d] - box.start[d];
  }
  if (!inside) slice.Fail("start and lengths lie outside the tensor");
  return box;
}

TensorSlice ReadSlice(Object slice, const TensorRecord& tensor, uint64_t whole,
                      const FileSizes& sizes, uint64_t piece_bytes) {
  TensorSlice read;
  read.file = slice.Text("file");
  read.offset = slice.Unsigned("offset");
  read.begin = slice.Unsigned("begin");
  read.count = slice.Unsigned("count");
  std::optional<uint64_t> box = whole;
  if (slice.Has("start") || slice.Has("lengths") || slice.Has("view")) {
    read.box = ReadBox(slice, tensor, whole);
    box = ElementCount(read.box.lengths);
  }
  if (!box.has_value() || read.begin > *box || read.count > *box - read.begin) {
    slice.Fail("begin and count lie outside the tensor");
    read.count = 0;
  }
  const auto file = sizes.find(read.file);
  if (file == sizes.end()) {
    slice.Fail("file is not in files");
  } else if (read.offset > file->second ||
             read.count * ElementBytes(tensor.type) > file->second - read.offset) {
    slice.Fail("lies outside its file");
  }
  read.checksums = ReadChecksums(slice, read.count * ElementBytes(tensor.type), piece_bytes);
  return read;
}

// Boxes of different views are not compared: no checkpoint has both for one tensor.
bool BoxesMeet(const TensorBox& a, const TensorBox& b) {
  if (a.whole() || b.whole() || a.view != b.view) return true;
  for (size_t d = 0; d < a.lengths.size(); ++d) {
    if (a.start[d] >= b.start[d] + b.lengths[d] || b.start[d] >= a.start[d] + a.lengths[d]) {
      return false;
    }
  }
  return true;
}

// Slices of one box must be disjoint ranges, and boxes disjoint; then equal counts mean full cover.
void CheckCover(Object& tensor, const std::vector<TensorSlice>& slices, uint64_t whole) {
  using Place = std::tuple<std::vector<int64_t>, std::vector<int64_t>, std::vector<int64_t>>;
  std::map<Place, std::vector<const TensorSlice*>> boxes;
  uint64_t covered = 0;
  for (const TensorSlice& slice : slices) {
    if (slice.count == 0) continue;
    boxes[{slice.box.view, slice.box.start, slice.box.lengths}].push_back(&slice);
    if (slice.count > whole - covered) return tensor.Fail("its slices overlap");
    covered += slice.count;
  }
  if (covered != whole) return tensor.Fail("its slices leave a gap");
  if (boxes.size() > kMaxBoxes) return tensor.Fail("is cut into too many boxes");
  for (auto box = boxes.begin(); box != boxes.end(); ++box) {
    auto& ranges = box->second;
    std::sort(ranges.begin(), ranges.end(),
              [](const auto* a, const auto* b) { return a->begin < b->begin; });
    for (size_t i = 1; i < ranges.size(); ++i) {
      if (ranges[i]->begin < ranges[i - 1]->begin + ranges[i - 1]->count) {
        return tensor.Fail("its slices overlap");
      }
    }
    for (auto other = std::next(box); other != boxes.end(); ++other) {
      if (BoxesMeet(ranges.front()->box, other->second.front()->box)) {
        return tensor.Fail("its slices overlap");
      }
    }
  }
}

void ReadTensors(Object& root, const FileSizes& sizes, bool whole_tensors, Manifest& manifest,
                 absl::Status& status) {
  std::set<std::string> names;
  const Json& list = root.List("tensors");
  for (size_t i = 0; i < list.size() && status.ok(); ++i) {
    Object tensor(list[i], absl::StrCat("tensors[", i, "]"), status);
    TensorRecord record;
    record.name = tensor.Text("name");
    if (!names.insert(record.name).second) tensor.Fail("name is given twice");
    const std::optional<DataType> type = ParseDataType(tensor.Text("dtype"));
    if (!type.has_value()) tensor.Fail("unknown dtype");
    record.type = type.value_or(DataType::kF32);
    record.shape = tensor.Dimensions("shape");
    const std::optional<uint64_t> whole = ElementCount(record.shape);
    if (!whole.has_value()) tensor.Fail("shape is too large");
    const Json& slices = tensor.List("slices");
    for (size_t s = 0; s < slices.size() && status.ok(); ++s) {
      record.slices.push_back(
          ReadSlice(Object(slices[s], absl::StrCat(tensor.place(), ".slices[", s, "]"), status),
                    record, *whole, sizes, manifest.piece_bytes));
    }
    if (status.ok() && whole_tensors) CheckCover(tensor, record.slices, *whole);
    manifest.tensors.push_back(std::move(record));
  }
}

// Returns the size of the pieces that a manifest of this format has. The first error stays in
// `status`.
uint64_t ReadFormat(Object& root, absl::Status& status) {
  const int64_t format = root.Count("format");
  if (status.ok() && format > kManifestFormat) {
    status = absl::UnimplementedError(absl::StrCat("manifest: its format, ", format,
                                                   ", is newer than ", kManifestFormat,
                                                   ", the newest that this program reads"));
  }
  if (status.ok() && format < 1) root.Fail("format must be at least 1");
  if (!status.ok() || format == 1) return 0;
  const uint64_t bytes = root.Unsigned("piece_bytes");
  if (!std::has_single_bit(bytes) || bytes < kLeastPieceBytes || bytes > kMostPieceBytes) {
    root.Fail(absl::StrCat("piece_bytes must be a power of two from ", kLeastPieceBytes, " to ",
                           kMostPieceBytes));
  }
  return bytes;
}

absl::StatusOr<Manifest> Parse(std::string_view text, bool whole_tensors) {
  absl::StatusOr<Json> json = ParseUniqueJson(text, kMaxManifestBytes);
  if (!json.ok()) return Bad(std::string(json.status().message()));
  absl::Status status;
  Object root(*json, "manifest.json", status);
  Manifest manifest;
  if (status.ok()) manifest.piece_bytes = ReadFormat(root, status);
  MUSTER_RETURN_IF_ERROR(status);
  manifest.run = ReadRun(root.Get("run"), status);
  const FileSizes sizes = ReadFiles(root, manifest, status);
  if (status.ok()) ReadTensors(root, sizes, whole_tensors, manifest, status);
  MUSTER_RETURN_IF_ERROR(status);
  SortManifest(manifest);
  return manifest;
}

Json WriteSlice(const TensorSlice& slice, uint64_t piece_bytes) {
  Json json = {{"file", slice.file},
               {"offset", slice.offset},
               {"begin", slice.begin},
               {"count", slice.count},
               {ChecksumsName(piece_bytes), FormatChecksums(slice.checksums)}};
  if (!slice.box.whole()) {
    json["start"] = slice.box.start;
    json["lengths"] = slice.box.lengths;
    if (!slice.box.view.empty()) json["view"] = slice.box.view;
  }
  return json;
}

}  // namespace

const TensorRecord* Manifest::Find(std::string_view name) const {
  auto found =
      std::lower_bound(tensors.begin(), tensors.end(), name,
                       [](const TensorRecord& t, std::string_view n) { return t.name < n; });
  return found != tensors.end() && found->name == name ? &*found : nullptr;
}

bool IsWeight(const TensorRecord& tensor) {
  return !tensor.slices.empty() && absl::StartsWith(tensor.slices[0].file, "model-");
}

void SortManifest(Manifest& manifest) {
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  std::sort(manifest.files.begin(), manifest.files.end(), by_name);
  std::sort(manifest.tensors.begin(), manifest.tensors.end(), by_name);
}

absl::StatusOr<Manifest> ParseManifest(std::string_view text) { return Parse(text, true); }

std::string FormatManifest(const Manifest& manifest) {
  Json files = Json::array(), tensors = Json::array();
  for (const FileRecord& file : manifest.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"checksum", file.checksum}});
  }
  for (const TensorRecord& tensor : manifest.tensors) {
    Json slices = Json::array();
    for (const TensorSlice& slice : tensor.slices) {
      slices.push_back(WriteSlice(slice, manifest.piece_bytes));
    }
    tensors.push_back({{"name", tensor.name},
                       {"dtype", std::string(Name(tensor.type))},
                       {"shape", tensor.shape},
                       {"slices", std::move(slices)}});
  }
  Json json = {{"format", manifest.piece_bytes == 0 ? 1 : kManifestFormat},
               {"run", WriteRun(manifest.run)},
               {"files", std::move(files)},
               {"tensors", std::move(tensors)}};
  if (manifest.piece_bytes != 0) json["piece_bytes"] = manifest.piece_bytes;
  return DumpJson(json, 1);
}

absl::StatusOr<Manifest> ParseSidecar(std::string_view text) { return Parse(text, false); }
std::string FormatSidecar(const Manifest& part) { return FormatManifest(part); }

}  // namespace muster::trainer
