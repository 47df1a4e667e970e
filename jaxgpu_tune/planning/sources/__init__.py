"""XLA_FLAGS inside real files: where it is set, and the edits that restate its flags. Text in, edits out; no file is read."""
