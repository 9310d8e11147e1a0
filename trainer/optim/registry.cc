#include "trainer/optim/registry.h"

#include "trainer/optim/adamw.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/sgd.h"

namespace muster::trainer {

Registry<OptimizerFactory>& Optimizers() {
  static auto* const registry =
      new Registry<OptimizerFactory>("optimizer.name", {
                                                           {"adamw", &MakeAdamW},
                                                           {"lion", &MakeLion},
                                                           {"sgd", &MakeSgd},
                                                       });
  return *registry;
}

Registry<RateFunction>& Schedules() {
  static auto* const registry =
      new Registry<RateFunction>("optimizer.schedule", {
                                                           {"constant", &ConstantRate},
                                                           {"linear", &LinearRate},
                                                           {"cosine", &CosineRate},
                                                       });
  return *registry;
}

}  // namespace muster::trainer
