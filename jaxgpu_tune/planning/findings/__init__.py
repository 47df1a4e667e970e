"""What is wrong with a plan, a job or an installation."""
