#include "planner/device_memory.h"

namespace muster::planner {
namespace {

// The context of a CUDA driver with the kernels of LibTorch takes 300 to 500 MB on an A100 or H100.
constexpr int64_t kDriverBytes = 500'000'000;
// NCCL has buffers of 4 MiB and smaller ones for each of up to 32 channels and both directions: up
// to 0.5 GB in a group whose ranks all reach each other through links.
constexpr int64_t kGroupBytes = 500'000'000;
// The part of what comes and goes within a step that its allocator cannot use again.
constexpr int64_t kReservePercent = 5;

// Returns the number of groups in which a rank exchanges: one of all ranks, and one for each axis
// along which there are others; neighbours in a pipeline have one for each direction
// (docs/design/0017).
int64_t GroupsOf(const Layout& layout) {
  if (layout.ranks() == 1) return 0;
  int64_t groups = 1;
  for (const int32_t extent : {layout.tensor, layout.context, layout.shard}) {
    groups += extent > 1 && extent < layout.ranks() ? 1 : 0;
  }
  return groups + (layout.pipeline > 1 ? 2 : 0);
}

}  // namespace

DeviceMemory EstimateDevice(const Work& work, const Layout& layout, const Device& device,
                            OptimizerKind optimizer) {
  const WorkDivision division{
      .tensor = layout.tensor,
      .stages = layout.pipeline,
      .chunks = layout.chunks,
      .folded = layout.schedule == PipelineSchedule::kZeroBubbleV,
      .context = layout.context,
      .ring = layout.ring,
      .activations = {.recompute_every =
                          layout.recompute == Recompute::kFull ? layout.recompute_every : 0}};
  const MemoryEstimate whole = EstimateMemory(
      work.shape, work.precision, layout.micro_batch, static_cast<int32_t>(work.sequence),
      optimizer, device.is_cpu ? LogitsPlace::kCpu : LogitsPlace::kGpu, division);
  DeviceMemory memory;
  memory.rank = DivideMemory(whole, UnitSizesOf(work.shape, division), layout.zero, layout.shard,
                             {.optimizer = layout.offload});
  const int64_t moving = memory.rank.activations + memory.rank.logits + memory.rank.update;
  memory.reserve = moving / 100 * kReservePercent;
  if (device.is_cpu) return memory;
  memory.on_host = memory.rank.checkpoint_copy;
  memory.rank.checkpoint_copy = 0;
  memory.driver = kDriverBytes;
  memory.collectives = GroupsOf(layout) * kGroupBytes;
  return memory;
}

}  // namespace muster::planner
