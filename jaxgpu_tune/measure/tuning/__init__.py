"""``tune`` and ``bisect``: the searches of ``measure.search`` over the user's own program."""
