"""A report in the forms that people and programs read: text, HTML, and what shells evaluate. No I/O."""
