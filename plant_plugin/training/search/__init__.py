"""Search for hyper-parameters on Ray Tune: what to try, the trials, the best one trained again."""
