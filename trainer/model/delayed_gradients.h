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

// Splits a backward pass in two: first the gradients of inputs, for which another rank waits, then
// the gradients of weights (Qi et al., 2023, "Zero bubble pipeline parallelism"). Between Hold()
// and Take(), the backward pass of a linear layer does not compute the gradient of its weight. It
// leaves a Product here instead, which keeps the layer's input and the gradient of its output in
// memory. AddDelayed() computes it later, and the sum has the same bits if a backward pass uses
// each weight once.
//
// Not thread-safe. Now() may run on autograd's thread, while the caller of the backward pass waits.
class DelayedGradients : public torch::CustomClassHolder {
 public:
  // Returns what is to be added to the gradient of a weight. Returns an undefined tensor if it has
  // added that to the gradient itself.
  using Product = std::function<at::Tensor()>;
  struct Item {
    at::Tensor weight;  // a leaf whose grad() has memory
    Product product;
  };

  // From now on Now() keeps products.
  void Hold() { holds_ = true; }
  // Returns the products kept since Hold(), in the order of the backward pass, and ends Hold().
  std::vector<Item> Take() {
    holds_ = false;
    return std::exchange(items_, {});
  }

  // Computes and returns the product. During Hold() keeps it, and returns an undefined tensor.
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
