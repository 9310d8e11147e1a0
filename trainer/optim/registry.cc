#include "trainer/optim/registry.h"

#include "trainer/optim/adamw.h"
#include "trainer/optim/lamb.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/muon.h"
#include "trainer/optim/sgd.h"

namespace muster::trainer {

Registry<OptimizerFactory>& Optimizers() {
  static auto* const registry =
      new Registry<OptimizerFactory>("optimizer.name", {
                                                           {"adamw", &MakeAdamW},
                                                           {"lamb", &MakeLamb},
                                                           {"lion", &MakeLion},
                                                           {"muon", &MakeMuon},
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
                                                           {"wsd", &WsdRate},
                                                           {"inverseSqrt", &InverseSqrtRate},
                                                       });
  return *registry;
}

}  // namespace muster::trainer
