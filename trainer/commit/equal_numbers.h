#ifndef MUSTER_TRAINER_COMMIT_EQUAL_NUMBERS_H_
#define MUSTER_TRAINER_COMMIT_EQUAL_NUMBERS_H_

#include <cstdint>
#include <span>

namespace muster::trainer {

// A summed message shows exactly whether all ranks sent one number, if each sends the number's
// residue and the square of that. Pure.

// Keeps numbers so small that the squares of 2 million ranks add up exactly. Numbers 65,536 apart
// look the same.
inline double Residue(int64_t number) { return static_cast<double>(number % 65536); }

// Returns true if `sums`, of the residues and of their squares, are those of `ranks` times
// `number`.
inline bool AllEqual(std::span<const double> sums, int64_t number, double ranks) {
  const double residue = Residue(number);
  return sums[0] == ranks * residue && sums[1] == ranks * residue * residue;
}

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMMIT_EQUAL_NUMBERS_H_
