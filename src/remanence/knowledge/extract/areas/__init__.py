"""What is read of each area of life, as tables of rules."""
