#ifndef MUSTER_TESTS_PARITY_MATRIX_PAIRWISE_H_
#define MUSTER_TESTS_PARITY_MATRIX_PAIRWISE_H_

#include <functional>
#include <vector>

// Combinations of the values of several axes. Pure.
namespace muster::trainer {

// The index of one value for each axis.
using Combination = std::vector<int>;

// Returns the combinations that `allows`, of axes with so many values each, in lexical order.
std::vector<Combination> Product(const std::vector<int>& sizes,
                                 const std::function<bool(const Combination&)>& allows);

// Returns some of `product`, such that every two values of two axes that occur together in it occur
// together in one of them. The next one always has the most pairs that no other had; of equals the
// first is taken.
std::vector<Combination> PairwiseCover(const std::vector<Combination>& product);

}  // namespace muster::trainer

#endif  // MUSTER_TESTS_PARITY_MATRIX_PAIRWISE_H_
