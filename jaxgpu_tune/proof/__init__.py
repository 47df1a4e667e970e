"""What took effect, what a flag changes, and whether the processes of a job agree."""
