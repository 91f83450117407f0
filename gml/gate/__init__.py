"""The data-quality gate: does a model that was accepted once still hold on new rows?"""
