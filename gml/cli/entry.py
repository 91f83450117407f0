"""Where the `gml` script starts: signals are looked after before anything else is imported."""


def main() -> None:
    """Run the command line."""
    from gml.signals import end_on_signals

    end_on_signals()
    from gml.cli.main import main as run

    run()
