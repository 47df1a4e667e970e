"""Pure decisions: from what was observed and what was asked for to a plan. Nothing here reads or changes the world."""
