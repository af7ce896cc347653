"""When sleep comes: cron plans, what is due, leases that keep two workers apart, the worker."""
