#ifndef MUSTER_TRAINER_MODEL_LAYERS_EMBEDDING_H_
#define MUSTER_TRAINER_MODEL_LAYERS_EMBEDDING_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "ATen/core/Tensor.h"
#include "trainer/model/block.h"
#include "trainer/model/layers/layered_block.h"

namespace muster::trainer {

// Divides the rows of a vocabulary's matrix [vocabulary, width].
inline Partition VocabularyParallel(int64_t vocabulary) {
  return {.dimension = 0, .pieces = vocabulary, .uneven = true};
}

// Looks rows of weight [count, width] up: `rows` are int64 of any shape, and the width is added to
// it. If it is a large leaf with memory for its gradient, that is added to where it lies, without a
// table of its size.
at::Tensor EmbeddingRows(const at::Tensor& weight, const at::Tensor& rows);

// Looks tokens [batch, sequence] up in a table whose rows the ranks of the tensor axis divide, as
// `partition` says: `weight` has this rank's. Returns the vectors of this rank's run of the
// sequence.
at::Tensor EmbeddingOfVocabulary(const at::Tensor& weight, const Partition& partition,
                                 const MicroBatchContext& context);

// A table of vectors, [count, width], that its block looks rows up in: `name`.weight.
class Embedding {
 public:
  Embedding(ParameterList& parameters, const std::string& name, int64_t count, int64_t width,
            double deviation, const Partition& partition = {})
      : parameters_(parameters),
        partition_(partition),
        weight_(parameters.AddWeight(name + ".weight", {count, width}, deviation, partition)) {}

  // `rows` are int64 of any shape; the width is added to it. The table must be whole.
  at::Tensor operator()(const at::Tensor& rows) const {
    return EmbeddingRows(parameters_[weight_], rows);
  }
  // Looks up the tokens of this rank's run of the sequence.
  at::Tensor OfTokens(const MicroBatchContext& context) const {
    return EmbeddingOfVocabulary(parameters_[weight_], partition_, context);
  }

 private:
  const ParameterList& parameters_;
  const Partition partition_;
  const size_t weight_;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_LAYERS_EMBEDDING_H_
