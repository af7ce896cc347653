"""What both SQL stores share; a dialect brings a `Session`, a `Database` and its `.sql` files."""
