#ifndef MUSTER_TRAINER_MODEL_DELAYED_GRADIENTS_H_
#define MUSTER_TRAINER_MODEL_DELAYED_GRADIENTS_H_

#include <functional>
#include <utility>
#include <vector>

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"
#include "c10/core/GradMode.h"
#include "c10/util/intrusive_ptr.h"

namespace muster::trainer {

// Splits a backward pass into the gradients of inputs, for which another rank waits, and those of
// weights, for which none does (Qi et al., 2023, "Zero bubble pipeline parallelism"). While it
// holds, a linear layer's backward pass leaves the product that is its weight's gradient here. All
// that is left here is computed later, and has the same bits. One thread at a time; a backward pass
// may run on others.
class DelayedGradients : public torch::CustomClassHolder {
 public:
  // Computes what a backward pass adds to the gradient of a leaf, or nothing if it added that
  // itself.
  using Product = std::function<at::Tensor()>;
  struct Item {
    at::Tensor weight;
    Product product;
  };

  void Hold() { holds_ = true; }
  // Returns what was left here since Hold(), and holds no longer.
  std::vector<Item> Take() {
    holds_ = false;
    return std::exchange(items_, {});
  }

  // Returns the product, or nothing if it is held back.
  at::Tensor Now(const at::Tensor& weight, Product product) {
    if (!holds_) return product();
    items_.push_back({weight, std::move(product)});
    return {};
  }

 private:
  bool holds_ = false;
  std::vector<Item> items_;
};

// Computes what was held back, in its order, and adds it to the weights' gradients.
inline void AddDelayed(const std::vector<DelayedGradients::Item>& items) {
  const c10::AutoGradMode no_graph(false);
  for (const DelayedGradients::Item& item : items) {
    const at::Tensor gradient = item.product();
    if (gradient.defined()) item.weight.grad().add_(gradient);
  }
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_MODEL_DELAYED_GRADIENTS_H_
