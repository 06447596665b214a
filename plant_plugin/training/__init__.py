"""The two stages and the strategies made of them."""
