"""What a run shows and asks on a terminal or in a pipe: answers, events, messages of hooks, questions."""
