"""What a chat shows: a pure function from events to lines, finished ones once, and a small region that lives."""
