"""The report page: its scripts in node (*.test.mjs), and all of it in a browser; make test-page."""
