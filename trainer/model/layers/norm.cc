#include "trainer/model/layers/norm.h"

#include "ATen/ops/layer_norm.h"
#include "ATen/ops/rms_norm.h"

namespace muster::trainer {

Norm::Norm(ParameterList& parameters, const std::string& name, Kind kind, int64_t width,
           double epsilon)
    : parameters_(parameters),
      width_(width),
      epsilon_(epsilon),
      gain_(parameters.AddGain(name + ".weight", width)) {
  if (kind == Kind::kLayerNorm) bias_ = parameters.AddBias(name + ".bias", width);
}

at::Tensor Norm::operator()(const at::Tensor& x) const {
  const at::Tensor& gain = parameters_[gain_];
  if (!bias_) return at::rms_norm(x, {width_}, gain, epsilon_);
  return at::layer_norm(x, {width_}, gain, parameters_[*bias_], epsilon_);
}

}  // namespace muster::trainer
