#ifndef MUSTER_TRAINER_MODEL_LAYERS_LAYERED_BLOCK_H_
#define MUSTER_TRAINER_MODEL_LAYERS_LAYERED_BLOCK_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "trainer/model/block.h"
#include "trainer/model/parameter.h"
#include "trainer/model/partition.h"

namespace muster::trainer {

// The parameters of one block, which its layers add and later read. Layers refer to it, so it
// neither moves nor is copied.
class ParameterList {
 public:
  ParameterList() = default;
  ParameterList(const ParameterList&) = delete;
  ParameterList& operator=(const ParameterList&) = delete;

  // Returns the index by which the bound tensor is read.
  size_t Add(ParameterSpec spec) {
    specs_.push_back(std::move(spec));
    return specs_.size() - 1;
  }
  size_t AddWeight(std::string name, std::vector<int64_t> shape, double deviation,
                   const Partition& partition = {}) {
    return Add({.name = std::move(name),
                .shape = std::move(shape),
                .init = {Initialization::Kind::kNormal, deviation},
                .decay = true,
                .partition = partition});
  }
  size_t AddBias(std::string name, int64_t size, const Partition& partition = {}) {
    return Add({.name = std::move(name),
                .shape = {size},
                .init = {Initialization::Kind::kZeros},
                .partition = partition});
  }
  size_t AddGain(std::string name, int64_t size) {
    return Add({.name = std::move(name), .shape = {size}, .init = {Initialization::Kind::kOnes}});
  }

  const std::vector<ParameterSpec>& specs() const { return specs_; }
  void Bind(std::vector<at::Tensor> views) { bound_ = std::move(views); }
  const at::Tensor& operator[](size_t index) const { return bound_[index]; }

 private:
  std::vector<ParameterSpec> specs_;
  std::vector<at::Tensor> bound_;
};

// A block that is made of layers: a family adds them in its constructor, and writes Forward.
class LayeredBlock : public Block {
 public:
  std::string name() const override { return name_; }
  const std::vector<ParameterSpec>& parameters() const override { return parameters_.specs(); }
  void Bind(std::vector<at::Tensor> views) override { parameters_.Bind(std::move(views)); }
  bool divides_sequence() const override { return true; }

 protected:
  explicit LayeredBlock(std::string name) : name_(std::move(name)) {}

  ParameterList parameters_;

 private:
  const std::string name_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_LAYERED_BLOCK_H_
