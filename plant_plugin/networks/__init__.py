"""Networks: an encoder of tokens and a label attention head."""
