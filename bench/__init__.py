"""Benchmarks: ``python -m bench`` measures the kernel and an agent run on it, ``python -m bench.peer`` sets the kernel
beside the public wheel, ``python -m bench.agents`` sets the agent run beside other frameworks.

Figures are ratios of two things measured in turn in one run. Nothing here is a test: a slow machine fails nobody.
"""
