#ifndef MUSTER_TESTS_FAULTS_COPIES_FOLDERS_H_
#define MUSTER_TESTS_FAULTS_COPIES_FOLDERS_H_

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace muster::tests {

// Returns the folders with copies in memory that these agents hold open.
std::set<std::string> CopiesFolders(const std::vector<pid_t>& agents);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_FAULTS_COPIES_FOLDERS_H_
