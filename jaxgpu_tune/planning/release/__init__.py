"""One release's own words: what a build accepts, and the same intent said for it."""
