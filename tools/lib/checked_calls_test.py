#!/usr/bin/python3
"""Tests that a dropped result of CUDA, NCCL or NVML is found, and a used one is not."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parent))
import checked_calls  # noqa: E402


class CheckedCallsTest(unittest.TestCase):
    def found(self, source):
        return [call for _, call in checked_calls.dropped(source)]

    def test_a_call_that_stands_alone_is_found_with_its_line(self):
        self.assertEqual(checked_calls.dropped("void F() {\n  cudaFree(Of(p, 1));\n}"), [(2, "cudaFree")])

    def test_a_result_that_is_dropped_in_other_ways_is_found(self):
        self.assertEqual(self.found("(void)cudaFree(p);"), ["cudaFree"])
        self.assertEqual(self.found("if (p) cudaFree(p);"), ["cudaFree"])
        self.assertEqual(self.found("if (p) {} else api->ncclCommAbort(c);"), ["api->ncclCommAbort"])
        self.assertEqual(self.found("f(); nccl().ncclGroupEnd();"), [])
        self.assertEqual(self.found("f(); nvmlInit_v2();"), ["nvmlInit_v2"])

    def test_a_result_that_is_used_is_not_found(self):
        for source in ("return {cudaGetLastError()};", "Must(cudaFree(p));", "const auto e = cudaFree(p);",
                       "if (cudaFree(p) != cudaSuccess) return;", "return cudaFree(p);", "// cudaFree(p);",
                       'Say("; cudaFree(p);");', "ncclResult_t (*ncclGroupEnd)();"):
            self.assertEqual(self.found(source), [], source)


if __name__ == "__main__":
    unittest.main()
