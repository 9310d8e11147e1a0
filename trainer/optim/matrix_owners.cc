#include "trainer/optim/matrix_owners.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "ATen/ops/cat.h"
#include "ATen/ops/empty.h"
#include "base/status_macros.h"
#include "trainer/parallel/slices.h"
#include "trainer/parallel/unit_layout.h"

namespace muster::trainer {
namespace {

int SizeOf(const Communicator* group) { return group == nullptr ? 1 : group->size(); }
int RankIn(const Communicator* group) { return group == nullptr ? 0 : group->rank(); }

int64_t ElementsOf(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// Returns how many elements of this rank's part of the matrix lie in a slice of the unit.
int64_t CountIn(const SharedMatrix& matrix, const Shard& shard) {
  const TreeNode slice = SliceOf(matrix.unit_elements / kChunkElements, shard);
  const int64_t end = matrix.tensor.offset + matrix.tensor.size;
  return std::max(int64_t{0}, std::min(slice.end * kChunkElements, end) -
                                  std::max(slice.begin * kChunkElements, matrix.tensor.offset));
}

// Returns the view of a whole matrix that one part of it is.
at::Tensor PartIn(const at::Tensor& whole, const OptimizerTensor& tensor, ModelPart part) {
  const PartBox box = BoxOfPart(tensor.shape, tensor.partition, part);
  at::Tensor view = whole.view(box.view);
  for (size_t d = 0; d < box.view.size(); ++d) {
    view = view.narrow(static_cast<int64_t>(d), box.start[d], box.lengths[d]);
  }
  return view;
}

// Sends `pieces[i]`, which is flat, to rank i of the group. Returns what rank i sent, of counts[i]
// elements, by i.
absl::StatusOr<std::vector<at::Tensor>> Exchange(Communicator& group,
                                                 const std::vector<at::Tensor>& pieces,
                                                 const std::vector<int64_t>& counts,
                                                 const char* label) {
  std::vector<int64_t> sent;
  for (const at::Tensor& piece : pieces) sent.push_back(piece.numel());
  const at::Tensor input = at::cat(pieces);
  const at::Tensor output =
      at::empty({std::accumulate(counts.begin(), counts.end(), int64_t{0})}, input.options());
  MUSTER_RETURN_IF_ERROR(group.AllToAllV(output, counts, input, sent, label)->Wait());
  return output.split_with_sizes(counts);
}

}  // namespace

SharedMatrix SharedMatrix::Of(const std::vector<OptimizerUnit>& units, int unit,
                              const OptimizerTensor& tensor) {
  const OptimizerUnit& of = units[static_cast<size_t>(unit)];
  const int64_t all = of.values.numel();
  const int64_t begin = std::clamp(tensor.offset - of.begin, int64_t{0}, all);
  const int64_t end = std::clamp(tensor.offset + tensor.size - of.begin, int64_t{0}, all);
  return {.unit = unit,
          .unit_elements = of.elements,
          .tensor = tensor,
          .begin = begin,
          .count = end - begin};
}

std::vector<MatrixOwners::Holders> MatrixOwners::FindHolders() const {
  std::vector<Holders> out;
  for (size_t m = 0; m < matrices_.size(); ++m) {
    Communicator* const replicas = context_.replicas[static_cast<size_t>(matrices_[m].unit)];
    Communicator* const tensor = matrices_[m].tensor.part.count > 1 ? context_.tensor : nullptr;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Holders& holders) {
      return holders.replicas == replicas && holders.tensor == tensor;
    });
    Holders& holders = same != out.end()
                           ? *same
                           : out.emplace_back(Holders{
                                 .replicas = replicas, .shard = context_.shard, .tensor = tensor});
    holders.matrices.push_back(m);
  }
  return out;
}

// One matrix for each of the holders: that of the rank at place (replica, shard, part) is the
// ((replica * shards + shard) * parts + part)-th of the round.
class MatrixOwners::Round {
 public:
  Round(const std::vector<SharedMatrix>& matrices, const Holders& holders, size_t first)
      : matrices_(matrices),
        holders_(holders),
        first_(first),
        shards_(SizeOf(holders.shard)),
        parts_(SizeOf(holders.tensor)),
        replica_(RankIn(holders.replicas)),
        shard_(RankIn(holders.shard)),
        part_(RankIn(holders.tensor)) {}

  absl::Status Run(Read read, Turn turn, const std::vector<at::Tensor>& out) const {
    MUSTER_ASSIGN_OR_RETURN(std::vector<at::Tensor> parts, GatherSlices(read, out));
    MUSTER_ASSIGN_OR_RETURN(at::Tensor whole, GatherParts(std::move(parts), out));
    if (const auto own = MatrixOf(replica_, shard_, part_)) {
      whole = turn(whole.view(At(*own).tensor.shape)).contiguous();
    }
    MUSTER_ASSIGN_OR_RETURN(parts, ReturnParts(whole, out));
    whole.reset();
    MUSTER_RETURN_IF_ERROR(ReturnSlices(std::move(parts), out));
    return ShareAmongReplicas(out);
  }

 private:
  const SharedMatrix& At(size_t matrix) const { return matrices_[matrix]; }
  std::optional<size_t> MatrixOf(int replica, int shard, int part) const {
    const size_t at = first_ + static_cast<size_t>((replica * shards_ + shard) * parts_ + part);
    if (at >= holders_.matrices.size()) return std::nullopt;
    return holders_.matrices[at];
  }
  at::Tensor Nothing(const std::vector<at::Tensor>& out) const {
    return out.front().narrow(0, 0, 0);
  }

  // Returns this rank's part of each matrix of its shard's, by the part that owns it.
  absl::StatusOr<std::vector<at::Tensor>> GatherSlices(Read read,
                                                       const std::vector<at::Tensor>& out) const {
    std::vector<at::Tensor> pieces;
    for (int shard = 0; shard < shards_; ++shard) {
      std::vector<at::Tensor> of_shard = {Nothing(out)};
      for (int part = 0; part < parts_; ++part) {
        const auto matrix = MatrixOf(replica_, shard, part);
        if (!matrix) continue;
        MUSTER_ASSIGN_OR_RETURN(of_shard.emplace_back(), read(*matrix));
      }
      pieces.push_back(at::cat(of_shard));
    }
    if (shards_ > 1) {
      MUSTER_ASSIGN_OR_RETURN(
          pieces, Exchange(*holders_.shard, pieces, CountsOfSlices(), "slices of matrices"));
    }
    std::vector<at::Tensor> parts;
    std::vector<int64_t> taken(pieces.size());
    for (int part = 0; part < parts_; ++part) {
      std::vector<at::Tensor> slices = {Nothing(out)};
      const auto matrix = MatrixOf(replica_, shard_, part);
      for (int shard = 0; matrix && shard < shards_; ++shard) {
        const auto s = static_cast<size_t>(shard);
        const int64_t count = CountIn(At(*matrix), {shard, shards_});
        slices.push_back(pieces[s].narrow(0, taken[s], count));
        taken[s] += count;
      }
      parts.push_back(at::cat(slices));
    }
    return parts;
  }
  // Returns what each shard has of the matrices of this rank's.
  std::vector<int64_t> CountsOfSlices() const {
    std::vector<int64_t> counts;
    for (int shard = 0; shard < shards_; ++shard) {
      int64_t& count = counts.emplace_back(0);
      for (int part = 0; part < parts_; ++part) {
        if (const auto matrix = MatrixOf(replica_, shard_, part)) {
          count += CountIn(At(*matrix), {shard, shards_});
        }
      }
    }
    return counts;
  }

  // Returns the matrix that this rank owns, flat; nothing if it owns none.
  absl::StatusOr<at::Tensor> GatherParts(std::vector<at::Tensor> parts,
                                         const std::vector<at::Tensor>& out) const {
    if (parts_ == 1) return std::move(parts.front());
    MUSTER_ASSIGN_OR_RETURN(
        parts, Exchange(*holders_.tensor, parts, CountsOfParts(), "parts of matrices"));
    const auto own = MatrixOf(replica_, shard_, part_);
    if (!own) return Nothing(out);
    const OptimizerTensor& tensor = At(*own).tensor;
    const at::Tensor whole = at::empty({ElementsOf(tensor.shape)}, parts.front().options());
    for (int part = 0; part < parts_; ++part) {
      const at::Tensor view = PartIn(whole, tensor, {part, parts_});
      view.copy_(parts[static_cast<size_t>(part)].view(view.sizes()));
    }
    return whole;
  }
  // Returns the sizes of the parts of the matrix that this rank owns.
  std::vector<int64_t> CountsOfParts() const {
    std::vector<int64_t> counts(static_cast<size_t>(parts_));
    const auto own = MatrixOf(replica_, shard_, part_);
    for (int part = 0; own && part < parts_; ++part) {
      const OptimizerTensor& tensor = At(*own).tensor;
      counts[static_cast<size_t>(part)] =
          ElementsOf(ShapeOfPart(tensor.shape, tensor.partition, {part, parts_}));
    }
    return counts;
  }

  // The two below undo the two above.
  absl::StatusOr<std::vector<at::Tensor>> ReturnParts(const at::Tensor& whole,
                                                      const std::vector<at::Tensor>& out) const {
    const at::Tensor flat = whole.view({-1});
    if (parts_ == 1) return std::vector<at::Tensor>{flat};
    std::vector<at::Tensor> parts(static_cast<size_t>(parts_), Nothing(out));
    std::vector<int64_t> counts(static_cast<size_t>(parts_));
    const auto own = MatrixOf(replica_, shard_, part_);
    for (int part = 0; part < parts_; ++part) {
      const auto p = static_cast<size_t>(part);
      if (own) {
        parts[p] = PartIn(flat, At(*own).tensor, {part, parts_}).contiguous().view({-1});
      }
      if (const auto of_part = MatrixOf(replica_, shard_, part)) {
        counts[p] = At(*of_part).tensor.size;
      }
    }
    return Exchange(*holders_.tensor, parts, counts, "parts of updates");
  }
  absl::Status ReturnSlices(std::vector<at::Tensor> parts,
                            const std::vector<at::Tensor>& out) const {
    std::vector<at::Tensor> pieces;
    std::vector<int64_t> taken(parts.size()), counts;
    for (int shard = 0; shard < shards_; ++shard) {
      std::vector<at::Tensor> of_shard = {Nothing(out)};
      int64_t& count = counts.emplace_back(0);
      for (int part = 0; part < parts_; ++part) {
        const auto p = static_cast<size_t>(part);
        if (const auto matrix = MatrixOf(replica_, shard_, part)) {
          const int64_t theirs = CountIn(At(*matrix), {shard, shards_});
          of_shard.push_back(parts[p].narrow(0, taken[p], theirs));
          taken[p] += theirs;
        }
        if (const auto matrix = MatrixOf(replica_, shard, part)) count += At(*matrix).count;
      }
      pieces.push_back(at::cat(of_shard));
    }
    parts.clear();
    if (shards_ > 1) {
      MUSTER_ASSIGN_OR_RETURN(pieces,
                              Exchange(*holders_.shard, pieces, counts, "slices of updates"));
    }
    for (int shard = 0; shard < shards_; ++shard) {
      int64_t at = 0;
      for (int part = 0; part < parts_; ++part) {
        const auto matrix = MatrixOf(replica_, shard, part);
        if (!matrix) continue;
        out[*matrix].copy_(pieces[static_cast<size_t>(shard)].narrow(0, at, At(*matrix).count));
        at += At(*matrix).count;
      }
    }
    return absl::OkStatus();
  }

  absl::Status ShareAmongReplicas(const std::vector<at::Tensor>& out) const {
    if (SizeOf(holders_.replicas) == 1) return absl::OkStatus();
    std::vector<std::unique_ptr<Pending>> under_way;
    for (int replica = 0; replica < holders_.replicas->size(); ++replica) {
      for (int shard = 0; shard < shards_; ++shard) {
        for (int part = 0; part < parts_; ++part) {
          const auto matrix = MatrixOf(replica, shard, part);
          if (!matrix || At(*matrix).count == 0) continue;
          under_way.push_back(
              holders_.replicas->Broadcast(out[*matrix], replica, At(*matrix).tensor.name));
        }
      }
    }
    absl::Status all;
    for (const auto& pending : under_way) {
      const absl::Status status = pending->Wait();
      if (all.ok()) all = status;
    }
    return all;
  }

  const std::vector<SharedMatrix>& matrices_;
  const Holders& holders_;
  const size_t first_;  // of the holders' matrices
  const int shards_, parts_, replica_, shard_, part_;
};

absl::Status MatrixOwners::Run(Read read, Turn turn, const std::vector<at::Tensor>& out) const {
  for (const Holders& holders : FindHolders()) {
    const auto owners = static_cast<size_t>(SizeOf(holders.replicas)) *
                        static_cast<size_t>(SizeOf(holders.shard)) *
                        static_cast<size_t>(SizeOf(holders.tensor));
    for (size_t first = 0; first < holders.matrices.size(); first += owners) {
      MUSTER_RETURN_IF_ERROR(Round(matrices_, holders, first).Run(read, turn, out));
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
