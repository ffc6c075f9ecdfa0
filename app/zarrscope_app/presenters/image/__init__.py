"""The picture: which plane is on show, its tiles, channels, labels, and the values under the cursor."""
