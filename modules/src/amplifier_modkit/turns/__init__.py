"""What every agent loop does in the same way: one turn, one model call, one tool call, and how each of them ends."""
