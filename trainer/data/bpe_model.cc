#include "trainer/data/bpe_model.h"

namespace muster::trainer {

BpeModel ByteModel() {
  BpeModel model;
  for (int b = 0; b < 256; ++b) model.tokens.emplace_back(1, static_cast<char>(b));
  model.tokens.emplace_back();
  model.added.push_back({256, kEndOfText, true});
  return model;
}

}  // namespace muster::trainer
