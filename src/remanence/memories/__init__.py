"""The write path: check and normalise, split and embed, then one transaction."""
