"""What commands share: options, arguments and outputs."""
