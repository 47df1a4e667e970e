"""What AllReduce does on NVLink: right, fast, in the decode step, under stress, with a peer that dies, over two processes."""
