"""One declaration per verb: command line, servers and reference loop over the same table."""
