"""What is known of English: its dates, and the facts that sentences state."""
