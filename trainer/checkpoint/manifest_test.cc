#include "trainer/checkpoint/manifest.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/json.h"
#include "trainer/checkpoint/data_type.h"

namespace muster::trainer {
namespace {

Manifest Sample() {
  Manifest manifest;
  manifest.run.job = "llama";
  manifest.run.step = 100;
  manifest.run.attempt = 2;
  manifest.run.seed = UINT64_MAX;
  manifest.run.model = {{"n_layer", 2}};
  manifest.piece_bytes = 4096;
  manifest.files = {{"a", 400, "aa"}, {"b", 400, "bb"}, {"c", 9000, "cc"}};
  manifest.tensors = {
      {"flat", DataType::kF32, {10, 10}, {{"a", 0, 0, 60, {}, {1}}, {"b", 0, 60, 40, {}, {2}}}},
      {"split",
       DataType::kF32,
       {4, 6},
       {{"a", 300, 0, 12, {{}, {0, 0}, {4, 3}}, {3}},
        {"b", 300, 0, 12, {{}, {0, 3}, {4, 3}}, {4}}}},
      {"three", DataType::kU8, {9000}, {{"c", 0, 0, 9000, {}, {5, 6, UINT64_MAX}}}},
      {"view",
       DataType::kU8,
       {2, 12},
       {{"a", 348, 0, 12, {{2, 3, 4}, {0, 0, 0}, {2, 3, 2}}, {8}},
        {"b", 348, 0, 12, {{2, 3, 4}, {0, 0, 2}, {2, 3, 2}}, {9}}}}};
  return manifest;
}

TEST(ManifestTest, ReadsWhatItWrites) {
  const std::string text = FormatManifest(Sample());
  const auto read = ParseManifest(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(FormatManifest(*read), text);
  EXPECT_EQ(read->run.seed, UINT64_MAX);
  ASSERT_NE(read->Find("split"), nullptr);
  EXPECT_EQ(read->Find("split")->slices[1].box.start, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(read->Find("view")->slices[1].box, Sample().tensors[3].slices[1].box);
  EXPECT_EQ(read->Find("nothing"), nullptr);
}

std::string ErrorWith(const char* pointer, const Json& value) {
  Json json = Json::parse(FormatManifest(Sample()));
  json[Json::json_pointer(pointer)] = value;
  return std::string(ParseManifest(json.dump()).status().message());
}

TEST(ManifestTest, AViewHasTheElementsOfItsTensorAndItsBoxesLieInIt) {
  const auto error = [](const char* field, const Json& value) {
    return ErrorWith(absl::StrCat("/tensors/3/slices/1/", field).c_str(), value);
  };
  EXPECT_EQ(error("view", {2, 3, 5}),
            "manifest: tensors[3].slices[1]: view has not as many elements as the tensor");
  EXPECT_EQ(error("start", {0, 0, 3}),
            "manifest: tensors[3].slices[1]: start and lengths lie outside the tensor");
  EXPECT_EQ(error("start", {0, 2}),
            "manifest: tensors[3].slices[1]: start and lengths lie outside the tensor");
  EXPECT_EQ(error("start", {0, 0, 1}), "manifest: tensors[3]: its slices overlap");
  EXPECT_EQ(error("view", {2, 4, 3}),
            "manifest: tensors[3].slices[1]: start and lengths lie outside the tensor");
}

// Returns the sample as the first format had it.
Json FormatOne() {
  Manifest manifest = Sample();
  manifest.piece_bytes = 0;
  manifest.tensors[2].slices[0].checksums = {7};
  return Json::parse(FormatManifest(manifest));
}

TEST(ManifestTest, TheFirstFormatHasOneChecksumForEachSlice) {
  const Json json = FormatOne();
  EXPECT_EQ(json["format"], 1);
  EXPECT_FALSE(json.contains("piece_bytes"));
  EXPECT_EQ(json["tensors"][2]["slices"][0]["checksum"], "0000000000000007");
  const auto read = ParseManifest(json.dump());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->piece_bytes, 0u);
  EXPECT_EQ(read->tensors[2].slices[0].checksums, std::vector<uint64_t>{7});
  EXPECT_EQ(FormatManifest(*read), FormatManifest(*ParseManifest(FormatManifest(*read))));
  Json two = json;
  two["tensors"][2]["slices"][0]["checksum"] = std::string(32, '0');
  EXPECT_EQ(
      ParseManifest(two.dump()).status().message(),
      "manifest: tensors[2].slices[0]: checksum must have 16 hexadecimal digits for each of 1 "
      "piece");
}

TEST(ManifestTest, ASliceHasAChecksumForEachPiece) {
  const Json json = Json::parse(FormatManifest(Sample()));
  EXPECT_EQ(json["format"], 2);
  EXPECT_EQ(json["piece_bytes"], 4096);
  EXPECT_EQ(json["tensors"][2]["slices"][0]["checksums"],
            "00000000000000050000000000000006ffffffffffffffff");
  constexpr char kChecksums[] = "/tensors/2/slices/0/checksums";
  constexpr char kWrong[] =
      "manifest: tensors[2].slices[0]: checksums must have 16 hexadecimal digits for each of 3 "
      "pieces";
  for (const size_t digits : {0, 16, 32, 47, 49, 64}) {
    EXPECT_EQ(ErrorWith(kChecksums, std::string(digits, '0')), kWrong) << digits;
  }
  EXPECT_EQ(ErrorWith(kChecksums, std::string(48, 'G')), kWrong);
  EXPECT_EQ(ErrorWith("/tensors/2/slices/0/checksum", "0"), "") << "fields that are not known";
}

TEST(ManifestTest, PiecesHaveASensibleSize) {
  constexpr char kWrong[] =
      "manifest: manifest.json: piece_bytes must be a power of two from 4096 to 1073741824";
  for (const uint64_t bytes :
       {uint64_t{0}, uint64_t{1}, uint64_t{2048}, uint64_t{4097}, uint64_t{1} << 31, UINT64_MAX}) {
    EXPECT_EQ(ErrorWith("/piece_bytes", bytes), kWrong) << bytes;
  }
  EXPECT_EQ(ErrorWith("/piece_bytes", "4096"),
            "manifest: manifest.json: piece_bytes must be an integer of at least 0");
}

// Somebody else may read a newer format: such a checkpoint is not damaged.
TEST(ManifestTest, ANewerFormatIsNotTakenForDamage) {
  Json json = Json::parse(FormatManifest(Sample()));
  json["format"] = 3;
  const absl::Status newer = ParseManifest(json.dump()).status();
  EXPECT_EQ(newer.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(newer.message(),
            "manifest: its format, 3, is newer than 2, the newest that this program reads");
  EXPECT_EQ(ErrorWith("/format", 0), "manifest: manifest.json: format must be at least 1");
}

TEST(ManifestTest, SkippedStepsAreKeptAndAnOlderManifestHasNone) {
  Manifest manifest = Sample();
  manifest.run.skipped_in_row = 2;
  manifest.run.skipped_total = 7;
  manifest.run.loss_scale = 4096;
  manifest.run.good_steps = 17;
  const auto read = ParseManifest(FormatManifest(manifest));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->run.skipped_in_row, 2);
  EXPECT_EQ(read->run.skipped_total, 7);
  EXPECT_EQ(read->run.loss_scale, 4096);
  EXPECT_EQ(read->run.good_steps, 17);
  Json older = Json::parse(FormatManifest(manifest));
  older["run"].erase("skipped_in_row");
  older["run"].erase("skipped_total");
  older["run"].erase("loss_scale");
  const auto older_manifest = ParseManifest(older.dump());
  ASSERT_TRUE(older_manifest.ok()) << older_manifest.status();
  EXPECT_EQ(older_manifest->run.skipped_total, 0);
  EXPECT_EQ(older_manifest->run.loss_scale, 0);
}

TEST(ManifestTest, ALossScaleIsAPowerOfTwoWithinItsBounds) {
  Manifest manifest = Sample();
  for (const int64_t wrong : {int64_t{3}, int64_t{1} << 25}) {
    manifest.run.loss_scale = wrong;
    EXPECT_EQ(ParseManifest(FormatManifest(manifest)).status().message(),
              "manifest: run: loss_scale must be a power of two from 1 to 16777216");
  }
  for (const int64_t right : {int64_t{1}, int64_t{1} << 24}) {
    manifest.run.loss_scale = right;
    EXPECT_TRUE(ParseManifest(FormatManifest(manifest)).ok()) << right;
  }
}

TEST(ManifestTest, TuningsAndWatchedStepsAreKeptToTheBit) {
  Manifest manifest = Sample();
  manifest.run.tuning = {{.step = 7, .learning_rate = 1.0 / 3.0}, {.step = 9, .clip_norm = 0.0}};
  manifest.run.watch = {.losses = {1.0 / 7.0, 1e300},
                        .norms = {0.1, 5e-324},
                        .in_row = 1,
                        .total = 4,
                        .rate_factor = 0.7};
  const auto read = ParseManifest(FormatManifest(manifest));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->run.tuning, manifest.run.tuning);
  EXPECT_EQ(read->run.watch, manifest.run.watch);
  Json older = Json::parse(FormatManifest(manifest));
  older["run"].erase("watch");
  const auto older_manifest = ParseManifest(older.dump());
  ASSERT_TRUE(older_manifest.ok()) << older_manifest.status();
  EXPECT_EQ(older_manifest->run.watch, WatchRecord());
}

TEST(ManifestTest, TuningsAndWatchedStepsAreBounded) {
  Json watch = {
      {"losses", {1.0}}, {"norms", {2.0}}, {"in_row", 0}, {"total", 0}, {"rate_factor", 1.0}};
  const auto error_with = [&](const char* name, Json value) {
    Json changed = watch;
    changed[name] = std::move(value);
    return ErrorWith("/run/watch", changed);
  };
  EXPECT_EQ(error_with("norms", Json::array()),
            "manifest: run.watch: losses and norms must be equally long");
  EXPECT_EQ(error_with("losses", std::vector<double>(65)),
            "manifest: run.watch: losses must be a list of at most 64 numbers");
  EXPECT_EQ(error_with("rate_factor", 0.0),
            "manifest: run.watch: rate_factor must be above 0 and at most 1");
  EXPECT_EQ(ErrorWith("/run/tuning", std::vector<int>(65)),
            "manifest: run: tuning must be a list of at most 64");
  EXPECT_EQ(ErrorWith("/run/tuning", {{{"step", -1}}}),
            "manifest: run.tuning: step must be an integer of at least 0");
}

TEST(ManifestTest, NamesThePlaceOfTheFault) {
  EXPECT_EQ(ParseManifest("[]").status().message(), "manifest: manifest.json: must be an object");
  EXPECT_EQ(ErrorWith("/run/step", -1), "manifest: run: step must be an integer of at least 0");
  EXPECT_EQ(ErrorWith("/run/job", 5), "manifest: run: job must be a string");
  EXPECT_EQ(ErrorWith("/run/layout", Json::array()),
            "manifest: run: layout, model and random must be objects");
  EXPECT_EQ(ErrorWith("/files/0/name", "../secret"),
            "manifest: files[0]: name leaves the directory");
  EXPECT_EQ(ErrorWith("/files/1/name", "a"), "manifest: files[1]: name is given twice");
  EXPECT_EQ(ErrorWith("/tensors/0/dtype", "F31"), "manifest: tensors[0]: unknown dtype");
  EXPECT_EQ(ErrorWith("/tensors/0/shape", {1, -2}),
            "manifest: tensors[0]: shape must be a list of at most 16 integers of at least 0");
  EXPECT_EQ(ErrorWith("/tensors/0/shape", {int64_t{1} << 40, int64_t{1} << 40}),
            "manifest: tensors[0]: shape is too large");
}

TEST(ManifestTest, SlicesStayInsideFilesAndTensors) {
  EXPECT_EQ(ErrorWith("/tensors/0/slices/0/file", "d"),
            "manifest: tensors[0].slices[0]: file is not in files");
  EXPECT_EQ(ErrorWith("/tensors/0/slices/0/offset", 161),
            "manifest: tensors[0].slices[0]: lies outside its file");
  EXPECT_EQ(ErrorWith("/tensors/0/slices/0/offset", UINT64_MAX),
            "manifest: tensors[0].slices[0]: lies outside its file");
  EXPECT_EQ(ErrorWith("/tensors/0/slices/1/begin", 61),
            "manifest: tensors[0].slices[1]: begin and count lie outside the tensor");
  EXPECT_EQ(ErrorWith("/tensors/0/slices/1/begin", UINT64_MAX),
            "manifest: tensors[0].slices[1]: begin and count lie outside the tensor");
  EXPECT_EQ(ErrorWith("/tensors/1/slices/1/start", {0, 4}),
            "manifest: tensors[1].slices[1]: start and lengths lie outside the tensor");
}

TEST(ManifestTest, SlicesCoverEachElementOnce) {
  EXPECT_EQ(ErrorWith("/tensors/0/slices/1/count", 39),
            "manifest: tensors[0]: its slices leave a gap");
  EXPECT_EQ(ErrorWith("/tensors/0/slices/1/begin", 59), "manifest: tensors[0]: its slices overlap");
  EXPECT_EQ(ErrorWith("/tensors/1/slices/1/start", {0, 2}),
            "manifest: tensors[1]: its slices overlap");
  EXPECT_EQ(ErrorWith("/tensors/0/slices", Json::array()),
            "manifest: tensors[0]: its slices leave a gap");
}

TEST(ManifestTest, TheSlicesOfASidecarNeedNotCoverTheTensors) {
  Manifest part = Sample();
  part.tensors[0].slices.pop_back();
  EXPECT_FALSE(ParseManifest(FormatSidecar(part)).ok());
  EXPECT_TRUE(ParseSidecar(FormatSidecar(part)).ok());
}

}  // namespace
}  // namespace muster::trainer
