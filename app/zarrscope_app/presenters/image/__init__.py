"""The picture: its plane, tiles, channels and labels, and the values under the cursor."""
