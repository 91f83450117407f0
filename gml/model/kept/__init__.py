"""What regressions keep of the rows that they were fitted on."""
