"""A running agent: started from a plan, with its child sessions, its limits, and what signals do to it."""
