"""XLA_FLAGS inside files of people: found, restated, and nothing else touched."""
