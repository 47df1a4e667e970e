"""Programs in plain use of people's libraries, none of which knows this one: ``python -m benchmarks.programs.ppo --steps 200``."""
