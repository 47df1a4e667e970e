"""Profile-guided latency estimation.

Profiles as values, how they are made, read, compared, used, and proved to be used.
"""
