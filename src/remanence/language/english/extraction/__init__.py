"""What a text says, read by rules: names, statements, and why the rest was refused."""
