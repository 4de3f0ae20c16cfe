"""Where tools may read and write: one policy for all of them, kept at the moment a file is opened."""
