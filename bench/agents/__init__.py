"""The same agent run in several frameworks: ``python -m bench.agents`` sets ours beside the others.

What runs inside the environment of another framework imports nothing but the standard library and that framework.
"""
