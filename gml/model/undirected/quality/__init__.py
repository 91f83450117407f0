"""What a fit says about itself: goodness of fit, information, errors of terms."""
