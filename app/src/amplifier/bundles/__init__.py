"""Bundles: files that say which agent a session is, and the mount plan that is made of them and of the settings."""
