"""`python -m pipelines` is the command `gradebeam`."""

from pipelines.cli.main import command

if __name__ == "__main__":
    command()
