"""Many sessions in one process: prompts from a file, some at a time, results as lines that survive a kill."""
