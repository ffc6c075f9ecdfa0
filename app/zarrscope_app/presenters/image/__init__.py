"""The displayed picture of an image: its plane, tiles, channels and labels, and the values under the cursor."""
