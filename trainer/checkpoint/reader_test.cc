#include "trainer/checkpoint/reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/checkpoint/checkpoint_listing.h"
#include "base/files/files.h"
#include "base/testing/counting_files.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/manifest.h"
#include "trainer/checkpoint/pieces.h"

namespace muster::trainer {
namespace {

constexpr char kPath[] = "/ck/step-000000001";
constexpr int64_t kRows = 40, kColumns = 1100;
constexpr uint64_t kElements = kRows * kColumns, kPiece = 4096;

// A tensor of 16-bit numbers that was saved in one of several ways.
struct Saved {
  const char* name;
  std::vector<TensorSlice> slices;
};

// Returns the places in the tensor of a slice's elements.
std::vector<uint64_t> PlacesOf(const TensorSlice& slice) {
  std::vector<uint64_t> box;
  const bool flat = slice.box.whole();
  const int64_t first_row = flat ? 0 : slice.box.start[0],
                first_column = flat ? 0 : slice.box.start[1];
  for (int64_t row = first_row; row < first_row + (flat ? kRows : slice.box.lengths[0]); ++row) {
    for (int64_t column = first_column;
         column < first_column + (flat ? kColumns : slice.box.lengths[1]); ++column) {
      box.push_back(static_cast<uint64_t>(row * kColumns + column));
    }
  }
  const auto begin = box.begin() + static_cast<int64_t>(slice.begin);
  return {begin, begin + static_cast<int64_t>(slice.count)};
}

uint16_t Number(uint64_t place) { return static_cast<uint16_t>(place * 7 + place / 251); }

class ReaderTest : public testing::TestWithParam<Saved> {
 protected:
  // Writes a complete checkpoint with one file for each slice, and opens it.
  void Write(uint64_t piece_bytes) {
    ASSERT_TRUE(memory_.MakeDirectories(kPath).ok());
    Manifest manifest;
    manifest.piece_bytes = piece_bytes;
    TensorRecord tensor{"t", DataType::kI16, {kRows, kColumns}, GetParam().slices};
    for (TensorSlice& slice : tensor.slices) {
      std::string bytes;
      for (const uint64_t place : PlacesOf(slice)) {
        const uint16_t number = Number(place);
        bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
      }
      PieceHasher hasher(piece_bytes);
      hasher.Update(bytes);
      slice.checksums = hasher.Finish();
      const std::string contents = std::string(slice.offset, '-') + bytes;
      manifest.files.push_back({slice.file, contents.size(), ""});
      ASSERT_TRUE(WriteFileAtomically(memory_, JoinPath(kPath, slice.file), contents).ok());
    }
    manifest.tensors = {tensor};
    const std::string text = FormatManifest(manifest);
    ASSERT_TRUE(WriteFileAtomically(memory_, JoinPath(kPath, "manifest.json"), text).ok());
    ASSERT_TRUE(
        WriteFileAtomically(memory_, JoinPath(kPath, "DONE"), CheckpointDoneContents(text)).ok());
    auto reader = CheckpointReader::Open(files_, kPath);
    ASSERT_TRUE(reader.ok()) << reader.status();
    reader_ = *std::move(reader);
  }

  absl::Status ReadRun(uint64_t begin, std::span<uint16_t> into) {
    return reader_->ReadPart("t", DataType::kI16, {kRows, kColumns}, begin,
                             std::as_writable_bytes(into));
  }

  // Returns the bytes of the pieces that hold an element of the run.
  uint64_t BytesOfPieces(uint64_t begin, uint64_t end) const {
    uint64_t bytes = 0;
    for (const TensorSlice& slice : reader_->manifest().tensors[0].slices) {
      const std::vector<uint64_t> places = PlacesOf(slice);
      const uint64_t size = places.size() * 2;
      const uint64_t piece =
          reader_->manifest().piece_bytes == 0 ? size : reader_->manifest().piece_bytes;
      std::set<uint64_t> pieces;
      for (size_t i = 0; i < places.size(); ++i) {
        if (places[i] >= begin && places[i] < end) pieces.insert(i * 2 / piece);
      }
      for (const uint64_t p : pieces) bytes += std::min(piece, size - p * piece);
    }
    return bytes;
  }

  MemoryFiles memory_;
  CountingFiles files_{memory_, ".safetensors"};
  std::unique_ptr<CheckpointReader> reader_;
};

TEST_P(ReaderTest, AnyRunOfStripesIsRead) {
  std::minstd_rand random(18);
  const auto below = [&](uint64_t n) {
    return std::uniform_int_distribution<uint64_t>(0, n - 1)(random);
  };
  for (const uint64_t piece_bytes : {kPiece, uint64_t{0}}) {
    Write(piece_bytes);
    for (const Stripes& stripes : {Stripes{.stride = kColumns, .begin = 0, .length = 333},
                                   Stripes{.stride = kColumns, .begin = 333, .length = 600},
                                   Stripes{.stride = kColumns / 2, .begin = 500, .length = 50},
                                   Stripes{.stride = kElements, .begin = 4000, .length = 5000}}) {
      const uint64_t all = kElements / stripes.stride * stripes.length;
      for (int i = 0; i < 10; ++i) {
        const uint64_t begin = i == 0 ? 0 : below(all);
        std::vector<uint16_t> run(i == 0 ? all : below(all - begin) + 1);
        const absl::Status read =
            reader_->ReadStripes("t", DataType::kI16, {kRows, kColumns}, stripes, begin,
                                 std::as_writable_bytes(std::span(run)));
        ASSERT_TRUE(read.ok()) << read;
        for (uint64_t j = 0; j < run.size(); ++j) {
          ASSERT_EQ(run[j], Number(stripes.PlaceOf(begin + j))) << begin << " " << j;
        }
      }
    }
  }
}

// Two ranks that load what two saved read half of the bytes each.
TEST_P(ReaderTest, SlicesWithoutAWantedElementAreNotRead) {
  if (GetParam().name != std::string("PartsOfColumns")) return;
  Write(kPiece);
  std::vector<uint16_t> run(kRows * 550);
  files_.TakeCount();
  ASSERT_TRUE(reader_
                  ->ReadStripes("t", DataType::kI16, {kRows, kColumns},
                                {.stride = kColumns, .begin = 550, .length = 550}, 0,
                                std::as_writable_bytes(std::span(run)))
                  .ok());
  EXPECT_EQ(files_.TakeCount(), run.size() * 2);
}

TEST_P(ReaderTest, AnyRunIsReadFromThePiecesThatHoldIt) {
  std::minstd_rand random(17);
  const auto below = [&](uint64_t n) {
    return std::uniform_int_distribution<uint64_t>(0, n - 1)(random);
  };
  for (const uint64_t piece_bytes : {kPiece, uint64_t{8192}, uint64_t{0}}) {
    Write(piece_bytes);
    for (int i = 0; i < 40; ++i) {
      const uint64_t begin = i == 0 ? 0 : below(kElements);
      const uint64_t most = kElements - begin;
      const uint64_t count = i == 0       ? kElements
                             : i % 2 == 0 ? below(most + 1)
                                          : below(50) % (most + 1);
      std::vector<uint16_t> run(count);
      files_.TakeCount();
      const absl::Status read = ReadRun(begin, run);
      ASSERT_TRUE(read.ok()) << read;
      EXPECT_EQ(files_.TakeCount(), BytesOfPieces(begin, begin + count)) << begin << "+" << count;
      for (uint64_t j = 0; j < count; ++j)
        ASSERT_EQ(run[j], Number(begin + j)) << begin << " " << j;
    }
  }
}

TEST_P(ReaderTest, ADamagedPieceIsReportedToThoseWhoReadIt) {
  Write(kPiece);
  const TensorSlice& slice = reader_->manifest().tensors[0].slices[1];
  const std::vector<uint64_t> places = PlacesOf(slice);
  ASSERT_GT(places.size() * 2, 2 * kPiece) << "the damaged piece must have neighbours";
  const std::string path = JoinPath(kPath, slice.file);
  std::string bytes = ReadFile(memory_, path).value();
  bytes[slice.offset + kPiece + 100] ^= 4;
  ASSERT_TRUE(memory_.Overwrite(path, bytes).ok());
  std::vector<uint16_t> one(1);
  EXPECT_TRUE(ReadRun(places[kPiece / 2 - 1], one).ok());
  EXPECT_EQ(one[0], Number(places[kPiece / 2 - 1]));
  EXPECT_TRUE(ReadRun(places[kPiece], one).ok());
  for (const size_t in_piece : {kPiece / 2, kPiece - 1}) {
    const absl::Status read = ReadRun(places[in_piece], one);
    EXPECT_EQ(read.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(read.message(), std::string(kPath) + ": t: the bytes in " + slice.file + " at " +
                                  std::to_string(slice.offset + kPiece) +
                                  " are not those that were written");
  }
  std::vector<uint16_t> all(kElements);
  EXPECT_EQ(ReadRun(0, all).code(), absl::StatusCode::kDataLoss);
}

INSTANTIATE_TEST_SUITE_P(
    , ReaderTest,
    testing::Values(
        Saved{"FlatParts",
              {{.file = "a.safetensors", .offset = 72, .begin = 0, .count = 4321},
               {.file = "b.safetensors", .offset = 64, .begin = 4321, .count = 30'000},
               {.file = "c.safetensors", .begin = 34'321, .count = kElements - 34'321}}},
        Saved{"Columns",
              {{.file = "a.safetensors",
                .offset = 8,
                .count = 40 * 333,
                .box = {.start = {0, 0}, .lengths = {kRows, 333}}},
               {.file = "b.safetensors",
                .count = 40 * 767,
                .box = {.start = {0, 333}, .lengths = {kRows, 767}}}}},
        Saved{"PartsOfColumns",
              {{.file = "a.safetensors",
                .count = 20'001,
                .box = {.start = {0, 0}, .lengths = {kRows, 550}}},
               {.file = "b.safetensors",
                .count = 40 * 550,
                .box = {.start = {0, 550}, .lengths = {kRows, 550}}},
               {.file = "c.safetensors",
                .offset = 5,
                .begin = 20'001,
                .count = 40 * 550 - 20'001,
                .box = {.start = {0, 0}, .lengths = {kRows, 550}}}}}),
    [](const testing::TestParamInfo<Saved>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace muster::trainer
