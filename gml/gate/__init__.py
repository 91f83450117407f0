"""The data-quality gate: does a model that was once accepted still hold on new rows?"""
