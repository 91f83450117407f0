"""Gibbs chains: sampling, their convergence, and what is fitted and estimated by them."""
