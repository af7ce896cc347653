"""The read path: understand the question, gather candidates, weigh their signals, explain."""
