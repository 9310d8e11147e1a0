#ifndef MUSTER_TESTS_PARITY_MATRIX_ROWS_H_
#define MUSTER_TESTS_PARITY_MATRIX_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "planner/activations.h"
#include "proto/muster/v1alpha1/training_job.pb.h"
#include "trainer/comm/mesh_shape.h"
#include "trainer/model/sequence_order.h"
#include "trainer/offload/state_rests.h"
#include "trainer/parallel/stages.h"
#include "trainer/parallel/unit.h"

namespace muster::trainer {

// A way to divide a run's state and work among ranks: one row of the parity matrix. Pure.
struct MatrixRow {
  int zero = 0;  // the stage of ZeRO
  // Two copies of the state: gradients are added up in each, then between them.
  bool copies = false;
  int ranks = 1;
  int tensor = 1;    // of the ranks, neighbours that divide each layer
  int pipeline = 1;  // the stages that divide the layers
  int context = 1;   // of the ranks, those that divide each sequence
  ContextExchange exchange = ContextExchange::kHeads;
  PipelineSchedule schedule = PipelineSchedule::kOneForwardOneBackward;
  int64_t micro_batches = 1;  // of a step
  std::string precision = "fp64";
  std::string optimizer = "adamw";
  // Whether this state rests in files between its uses.
  bool optimizer_rests = false;
  bool weights_rest = false;
  planner::ActivationOptions activations = {};

  int workers() const { return ranks / together(); }
  // Returns the number of runs of blocks that each stage of the pipeline has.
  int chunks() const { return FewestChunks(schedule); }
  // The ranks that work on one micro-batch.
  int together() const { return tensor * pipeline * context; }
  MeshShape mesh() const;
  Division divided() const { return {.values = zero >= 3, .gradients = zero >= 2}; }
  OffloadOptions offload() const;
  // Returns the fields of a spec that lead to this layout.
  v1alpha1::ParallelismSpec parallelism() const;
  // Returns true if the other row divides the work on a micro-batch alike.
  bool DividesAs(const MatrixRow& other) const {
    return tensor == other.tensor && pipeline == other.pipeline && context == other.context &&
           exchange == other.exchange && chunks() == other.chunks() &&
           FormOf(schedule) == FormOf(other.schedule);
  }
  // Returns the layout, e.g. "ZeRO 2, 3 ranks, 4 micro-batches".
  std::string name() const;
};

// The heads of a model's attention, and those of its keys.
struct Heads {
  int queries = 0;
  int keys = 0;
};

// Returns all rows in FP64 for a model with these heads. Layouts that would cut a head are left
// out. If `pairwise`, returns a part of the rows, in which any two values of two axes (layout,
// ranks, micro-batches per worker, optimizer, what rests in files, which blocks are computed again)
// stand in one row. Of all rows each has one of the values of the last axis, in turn.
std::vector<MatrixRow> MatrixRows(bool pairwise, const Heads& heads);

// Returns rows in BF16 and in FP16, of one number of micro-batches: what state of another type than
// the products, and a loss scale, can add to the rows above.
std::vector<MatrixRow> NarrowRows();

// Returns rows in FP64 that save activations in another format, which are compared with one rank
// that does so. With INT8 their layouts cut no activation, because it rounds numbers together.
std::vector<MatrixRow> PackedRows();

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_MATRIX_ROWS_H_
