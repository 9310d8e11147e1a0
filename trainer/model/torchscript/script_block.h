#ifndef MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_BLOCK_H_
#define MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_BLOCK_H_

#include <string>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "trainer/model/block.h"
#include "trainer/model/parameter.h"
#include "trainer/model/torchscript/script_forward.h"
#include "trainer/model/torchscript/script_module.h"
#include "trainer/model/torchscript/script_parameters.h"

namespace muster::trainer {

// The field of the API that refusals name.
inline constexpr char kScriptField[] = "trainer.model.torchScript";

// A module of a TorchScript file as a block. Its operators run one by one, without the rewriting
// that TorchScript's profiling executor does after a few runs, so that every pass has the same
// numbers. The model's random numbers come from LibTorch's generator for the CPU, which is seeded
// before each pass: a function of the run's seed, the step, the micro-batch's first sample and the
// block, whatever the layout. Passes of one process take turns because of it.
//
// Forward throws LibTorch's ValueError for a model that cannot be trained: one that writes to its
// own attributes or to the micro-batch, returns the memory of a parameter, or whose loss is no
// scalar or no sum over the labels.
class ScriptBlock final : public Block {
 public:
  struct Parts {
    ScriptModule root;  // keeps the code alive
    std::string name;
    NamedModule module;
    int index = 0;  // of the block
    bool is_last = false;
    ScriptForward forward;
    std::vector<ScriptParameter> parameters;
  };
  explicit ScriptBlock(Parts parts);

  std::string name() const override { return name_; }
  const std::vector<ParameterSpec>& parameters() const override { return specs_; }
  void Bind(std::vector<at::Tensor> views) override;
  BlockOutput Forward(std::vector<at::Tensor> inputs, const MicroBatchContext& context) override;

 private:
  std::vector<at::Tensor> Run(const std::vector<at::Tensor>& inputs,
                              const MicroBatchContext& context);
  std::vector<at::Tensor> Call(const std::vector<at::Tensor>& inputs,
                               const MicroBatchContext& context, bool training);
  void CheckOutputs(const std::vector<at::Tensor>& outputs) const;
  void CheckLoss(const at::Tensor& loss, bool training) const;
  void CheckSum(const std::vector<at::Tensor>& inputs, const MicroBatchContext& context);

  const ScriptModule root_;
  const std::string name_;
  const NamedModule module_;
  const int index_;
  const bool is_last_;
  const ScriptForward forward_;
  std::vector<ParameterSpec> specs_;
  std::vector<std::vector<ScriptSlot>> places_;  // of each parameter
  std::vector<ScriptSlot> watched_;              // every slot but `training`
  bool contents_checked_ = false;
  bool sum_checked_ = false;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_TORCHSCRIPT_SCRIPT_BLOCK_H_
