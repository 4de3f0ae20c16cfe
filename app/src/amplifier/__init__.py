"""Amplifier in the terminal: an application on the kernel. It knows modules by their ids only."""

__version__ = "3.0.0"
