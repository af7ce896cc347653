"""Knowledge over time: what memories say, found by rules, and what it adds up to."""
