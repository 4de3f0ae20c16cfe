"""What a user can say to the chat itself: commands with a slash, built in or written by the user, and skills."""
