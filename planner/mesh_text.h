#ifndef MUSTER_PLANNER_MESH_TEXT_H_
#define MUSTER_PLANNER_MESH_TEXT_H_

#include <string>

#include "proto/muster/v1alpha1/round.pb.h"

namespace muster::planner {

// Returns the places of the ranks [first, first + count) along the axes of a mesh, outermost first,
// for people: "pipeline 1 of 2, data 0-1 of 2, tensor 0-1 of 2". Axes of one rank are left out; the
// text is empty if all are, or if ranks only hold copies of the state. Pure.
std::string MeshText(const v1alpha1::Mesh& mesh, int first, int count);

}  // namespace muster::planner

#endif  // MUSTER_PLANNER_MESH_TEXT_H_
