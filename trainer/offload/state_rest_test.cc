// Holds every place where state rests to the contract, and files to what an error leaves.

#include "trainer/offload/state_rest.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ATen/ops/equal.h"
#include "ATen/ops/full.h"
#include "ATen/ops/full_like.h"
#include "ATen/ops/zeros.h"
#include "gtest/gtest.h"
#include "trainer/offload/memory_state_files.h"
#include "trainer/offload/rest_in_file.h"
#include "trainer/parallel/flat_memory.h"

namespace muster::trainer {
namespace {

constexpr int64_t kElements = 100;

// Returns two units of two tensors each; the last tensor is empty.
TensorsByUnit MakeTensors() {
  return {{at::zeros({kElements}, at::kDouble), at::zeros({kElements}, at::kDouble)},
          {at::zeros({kElements}, at::kFloat), at::zeros({0}, at::kFloat)}};
}

std::span<const std::byte> BytesOf(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

at::Tensor ReadPart(StateRest& rest, const at::Tensor& part) {
  at::Tensor read = at::full(part.sizes(), -1.0, part.options());
  EXPECT_TRUE(
      rest.Read(part, {static_cast<std::byte*>(read.mutable_data_ptr()), read.nbytes()}).ok());
  return read;
}

struct Implementation {
  std::string name;
  std::function<std::unique_ptr<StateRest>(StateFiles& files, const TensorsByUnit& tensors)> make;
};

class StateRestTest : public testing::TestWithParam<Implementation> {
 protected:
  MemoryStateFiles files_;
  const TensorsByUnit tensors_ = MakeTensors();
  const std::unique_ptr<StateRest> rest_ = GetParam().make(files_, tensors_);
};

TEST_P(StateRestTest, AUnitIsBroughtWithWhatWasKeptLast) {
  for (const double value : {1.0, 2.0, 3.0}) {
    for (int unit = 0; unit < 2; ++unit) {
      ASSERT_TRUE(rest_->Bring(unit).ok());
      const at::Tensor& tensor = tensors_[static_cast<size_t>(unit)][0];
      EXPECT_TRUE(at::equal(tensor, at::full_like(tensor, value - 1.0)));
      tensor.add_(1.0);
      ASSERT_TRUE(rest_->Keep(unit).ok());
    }
    rest_->Swap();
  }
  ASSERT_TRUE(rest_->Bring(0).ok());
  EXPECT_TRUE(at::equal(tensors_[0][1], at::zeros({kElements}, at::kDouble)));
  rest_->Drop(0);
}

TEST_P(StateRestTest, RoomIsFilledAndKept) {
  rest_->MakeRoom(0);
  for (const at::Tensor& tensor : tensors_[0]) tensor.fill_(7.0);
  ASSERT_TRUE(rest_->Keep(0).ok());
  rest_->Swap();
  const at::Tensor part = tensors_[0][1].narrow(0, 10, 30);
  EXPECT_TRUE(at::equal(ReadPart(*rest_, part), at::full({30}, 7.0, at::kDouble)));
  const at::Tensor untouched = tensors_[1][0].narrow(0, 0, 5);
  EXPECT_TRUE(at::equal(ReadPart(*rest_, untouched), at::zeros({5}, at::kFloat)));
}

TEST_P(StateRestTest, PartsAreWrittenAndRead) {
  const at::Tensor a = at::full({40}, 4.0, at::kFloat), b = at::full({60}, 5.0, at::kFloat);
  const at::Tensor& tensor = tensors_[1][0];
  ASSERT_TRUE(rest_->Write(tensor.narrow(0, 0, 40), BytesOf(a)).ok());
  ASSERT_TRUE(rest_->Write(tensor.narrow(0, 40, 60), BytesOf(b)).ok());
  ASSERT_TRUE(rest_->Write(tensors_[1][1], {}).ok());
  rest_->Swap();
  EXPECT_TRUE(at::equal(ReadPart(*rest_, tensor.narrow(0, 30, 10)), a.narrow(0, 0, 10)));
  ASSERT_TRUE(rest_->Bring(1).ok());
  EXPECT_EQ(tensor.sum().item<double>(), 40 * 4.0 + 60 * 5.0);
  rest_->Drop(1);
}

INSTANTIATE_TEST_SUITE_P(All, StateRestTest,
                         testing::Values(Implementation{"InPlace",
                                                        [](StateFiles&, const TensorsByUnit&) {
                                                          return std::make_unique<RestInPlace>();
                                                        }},
                                         Implementation{
                                             "InFile",
                                             [](StateFiles& files, const TensorsByUnit& tensors) {
                                               auto rest =
                                                   RestInFile::Create(files, "disk", tensors);
                                               EXPECT_TRUE(rest.ok()) << rest.status();
                                               return std::move(*rest);
                                             }}),
                         [](const auto& tested) { return tested.param.name; });

class RestInFileTest : public testing::Test {
 protected:
  // Adds one to everything; returns what the place says.
  absl::Status Update() {
    for (int unit = 0; unit < 2; ++unit) {
      if (absl::Status status = rest_->Bring(unit); !status.ok()) return status;
      for (const at::Tensor& tensor : tensors_[static_cast<size_t>(unit)]) tensor.add_(1.0);
      if (absl::Status status = rest_->Keep(unit); !status.ok()) return status;
    }
    return absl::OkStatus();
  }
  double First(int unit) {
    return ReadPart(*rest_, tensors_[static_cast<size_t>(unit)][0].narrow(0, 0, 1)).item<double>();
  }

  MemoryStateFiles files_;
  const TensorsByUnit tensors_ = MakeTensors();
  const std::unique_ptr<RestInFile> rest_ = *RestInFile::Create(files_, "disk", tensors_);
};

TEST_F(RestInFileTest, TheFileHasRoomForTwoGenerations) {
  EXPECT_EQ(files_.used(), 2 * (2 * kElements * sizeof(double) + kElements * sizeof(float)));
}

TEST_F(RestInFileTest, TensorsHaveMemoryOnlyWhileTheyAreInUse) {
  EXPECT_FALSE(HasMemory(tensors_[0][0]));
  ASSERT_TRUE(rest_->Bring(0).ok());
  EXPECT_TRUE(HasMemory(tensors_[0][0]));
  EXPECT_FALSE(HasMemory(tensors_[1][0]));
  ASSERT_TRUE(rest_->Keep(0).ok());
  EXPECT_FALSE(HasMemory(tensors_[0][0]));
  rest_->MakeRoom(1);
  EXPECT_TRUE(HasMemory(tensors_[1][0]));
  rest_->Drop(1);
  EXPECT_FALSE(HasMemory(tensors_[1][0]));
}

TEST_F(RestInFileTest, UntilTheSwapTheContentsAreThoseOfBefore) {
  ASSERT_TRUE(Update().ok());
  EXPECT_EQ(First(0), 0.0);
  rest_->Swap();
  EXPECT_EQ(First(0), 1.0);
  EXPECT_EQ(First(1), 1.0);
  ASSERT_TRUE(Update().ok());
  rest_->Discard();
  rest_->Swap();
  EXPECT_EQ(First(0), 1.0);
}

TEST_F(RestInFileTest, AnErrorAnywhereInAnUpdateLeavesTheContentsOfBefore) {
  ASSERT_TRUE(Update().ok());
  rest_->Swap();
  const int64_t before = files_.operations();
  ASSERT_TRUE(Update().ok());
  const int64_t operations = files_.operations() - before;
  EXPECT_EQ(operations, 6) << "reads and writes of three tensors that are not empty";
  rest_->Discard();
  for (int64_t good = 0; good < operations; ++good) {
    files_.FailAfter(good);
    EXPECT_EQ(Update().code(), absl::StatusCode::kUnavailable) << good;
    files_.FailAfter(-1);
    rest_->Discard();
    EXPECT_FALSE(HasMemory(tensors_[0][0]) || HasMemory(tensors_[1][0])) << good;
    EXPECT_EQ(First(0), 1.0) << good;
    EXPECT_EQ(First(1), 1.0) << good;
  }
  ASSERT_TRUE(Update().ok());
  rest_->Swap();
  EXPECT_EQ(First(1), 2.0);
}

TEST_F(RestInFileTest, ATensorOfAnotherStateIsRefused) {
  std::byte byte{};
  EXPECT_EQ(rest_->Read(at::zeros({1}, at::kByte), {&byte, 1}).code(), absl::StatusCode::kInternal);
  const at::Tensor whole = at::zeros({10});
  EXPECT_EQ(RestInFile::Create(files_, "disk", {{whole.narrow(0, 0, 5)}}).status().message(),
            "only a tensor that is the whole of its storage can rest");
}

TEST_F(RestInFileTest, ADiskWithoutRoomIsRefusedBeforeTheTensorsLoseTheirContents) {
  files_.SetCapacity(files_.used() + 100);
  const TensorsByUnit tensors = {{at::full({kElements}, 3.0, at::kDouble)}};
  EXPECT_EQ(RestInFile::Create(files_, "disk", tensors).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(HasMemory(tensors[0][0]));
}

}  // namespace
}  // namespace muster::trainer
