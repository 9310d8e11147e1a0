#ifndef MUSTER_TESTS_TESTENV_PAGE_BLOCKS_H_
#define MUSTER_TESTS_TESTENV_PAGE_BLOCKS_H_

#include <string>
#include <string_view>
#include <vector>

namespace muster::tests {

// Pages of docs/ mark what tests take from them: a line `<!-- COMMENT -->`, and right after it a
// fenced block.

// Returns the text of the block after this comment; empty if the page has none.
std::string BlockAfter(std::string_view page, const std::string& comment);

// Returns the name in each comment `<!-- MARK: NAME -->`, in the page's order.
std::vector<std::string> BlockNames(std::string_view page, const std::string& mark);

}  // namespace muster::tests

#endif  // MUSTER_TESTS_TESTENV_PAGE_BLOCKS_H_
