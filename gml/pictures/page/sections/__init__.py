"""The sections of the report page, one file each: facts in, HTML out."""
