"""Benchmarks: ``python -m bench`` measures the kernel, ``python -m bench.peer`` sets it beside the public wheel.

Every figure is a ratio of two things measured in turn in one run. Nothing here is a test: a slow machine fails nobody.
"""
