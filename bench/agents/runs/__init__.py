"""The run, once per framework: each file has ``DISTRIBUTION``, ``WHAT`` and ``agent``, and needs only its framework."""
