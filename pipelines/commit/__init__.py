"""From staged parts to a committed run."""
