"""What differs from one operating system to another: locks, files, sockets."""
