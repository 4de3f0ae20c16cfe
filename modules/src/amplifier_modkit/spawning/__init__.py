"""Child sessions: a reference for the capabilities ``session.spawn`` and ``session.resume`` on the kernel's fork."""
