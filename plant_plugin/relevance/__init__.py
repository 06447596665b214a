"""What words tell of labels without a network: mutual information, and phrases that coders marked."""

from plant_plugin.relevance.mutual_information import Relevance, compute_relevance

__all__ = ["Relevance", "compute_relevance"]
