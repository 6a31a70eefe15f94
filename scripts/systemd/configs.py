"""Configurations of the market that the checks use."""

SETPRIV = """["setpriv", "--reuid={user}", "--regid={user}", "--init-groups",
                "--inh-caps=-all", "--ambient-caps=-all"]"""
SUDO = '["sudo", "-n", "-u", "{user}"]'

# Four slots, each of which is one processor and 128 MB, whatever the machine has.
SITE = """
[[site]]
name = "alpha"
kind = "local"
processors = 4
memory = 512
pool = [{ name = "main", nodes = 4, price = 0.001 }]
"""


def accounts(user_command=SETPRIV):
    """Each user's jobs run as an account of the same name."""
    return f'{SITE}user_command = {user_command}\naccounts = "same"\n'


def shared():
    """All jobs run as the daemon's account."""
    return f"shared_account = true\n{SITE}hide_state = true\n"
