"""python -m gml.cli"""

from gml.cli.entry import main

main()
