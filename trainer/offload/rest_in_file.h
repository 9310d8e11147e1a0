#ifndef MUSTER_TRAINER_OFFLOAD_REST_IN_FILE_H_
#define MUSTER_TRAINER_OFFLOAD_REST_IN_FILE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainer/offload/state_file.h"
#include "trainer/offload/state_rest.h"

namespace muster::trainer {

// Tensors that rest in a file with room for two generations of each unit. Reads and writes on the
// caller's thread; the system's cache of the file does what reading ahead and writing behind would.
class RestInFile final : public StateRest {
 public:
  // The tensors are zeros from now on, and lose their memory. Fails as StateFiles::Create does.
  static absl::StatusOr<std::unique_ptr<RestInFile>> Create(StateFiles& files,
                                                            const std::string& directory,
                                                            const TensorsByUnit& tensors);

  bool has_generations() const override { return true; }
  absl::Status Bring(int unit) override;
  void MakeRoom(int unit) override;
  absl::Status Keep(int unit) override;
  void Drop(int unit) override;
  absl::Status Read(const at::Tensor& part, std::span<std::byte> into) override;
  absl::Status Write(const at::Tensor& part, std::span<const std::byte> from) override;
  void Swap() override;
  void Discard() override;
  int refusals() const override { return refusals_; }
  void ForgetRefusals() override { refusals_ = 0; }

 private:
  struct Place {
    at::Tensor tensor;
    uint64_t offset = 0;  // bytes, within a generation
  };
  struct RestingUnit {
    std::vector<Place> places;
    int current = 0;  // generation
    bool written = false;
  };

  RestInFile(std::vector<RestingUnit> units, uint64_t generation_bytes)
      : units_(std::move(units)), generation_bytes_(generation_bytes) {}
  RestingUnit& Of(int unit) { return units_[static_cast<size_t>(unit)]; }
  uint64_t Offset(uint64_t offset, int generation) const {
    return offset + static_cast<uint64_t>(generation) * generation_bytes_;
  }
  absl::Status ReadFile(uint64_t offset, std::span<std::byte> into);
  absl::Status WriteFile(uint64_t offset, std::span<const std::byte> from);
  // Returns the unit of the tensor that `part` is a view of, and the part's offset in a generation.
  absl::StatusOr<std::pair<RestingUnit*, uint64_t>> Find(const at::Tensor& part);

  std::vector<RestingUnit> units_;
  const uint64_t generation_bytes_;
  std::map<const void*, std::pair<size_t, size_t>> by_storage_;  // unit and place
  std::unique_ptr<StateFile> file_;
  int refusals_ = 0;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_OFFLOAD_REST_IN_FILE_H_
