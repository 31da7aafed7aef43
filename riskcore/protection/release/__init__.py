"""The safe file as it leaves: its layout, its writing, its records."""
