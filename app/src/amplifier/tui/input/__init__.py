"""What a user types in the chat: the line and its keys, history, completion, folded pastes, files, commands."""
