"""What goes into a prompt: parts chosen to fit a budget of tokens."""
