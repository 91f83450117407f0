"""python -m gml.cli"""

from gml.cli.main import main

main()
