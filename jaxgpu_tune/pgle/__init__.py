"""Profile-guided latency estimation: profiles as values, how they are made, read, compared, used, and proved to be used."""
