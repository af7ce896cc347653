"""What goes into the prompt: parts chosen inside a budget of tokens."""
