"""How benchmarks show what they have measured."""
import statistics


def spread(values, digits=2):
    """The median, and in brackets the least and the most."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}..{max(values):.{digits}f})"
