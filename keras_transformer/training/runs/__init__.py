"""The run directory: its files, its summary, its model card, and what a run can start from."""
