"""What the daemon counts: the table of its metrics, their text formats, and histograms.

It imports :mod:`reel.base` alone; the daemon fills what clients read. Begin with :mod:`reel.stats.metrics`.
"""
