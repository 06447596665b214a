"""The first PLANT: AWD-LSTM, ranker, network and `plant pretrain-lm`; the rest knows it by ``registry.yaml`` only.

May import: every other room but ``cli``.
Begin with :mod:`plant_plugin.l2r.network`.
"""
