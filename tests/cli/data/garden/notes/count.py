# Counts the bees of a hive.
def count_bees(frames):
    """Each frame holds about two thousand bees."""
    return 2000 * len(frames)
