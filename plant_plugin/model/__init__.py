"""Trained models on new documents: reading them, predicting, writing what was predicted."""
