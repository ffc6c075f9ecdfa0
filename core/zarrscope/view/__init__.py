"""Data for viewers: loads chunks in the background, finds pyramids, draws pictures."""
