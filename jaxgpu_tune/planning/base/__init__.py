"""What every stage uses: the values that flow through planning, conditions, and the reading of plain text."""
