"""For viewers: chunks loaded in the background, pyramids, pictures."""
