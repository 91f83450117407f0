"""Start a command, wait for it, and report its exit status and peak memory.

    python watch.py REPORT ADDRESS_SPACE COMMAND…

A process of its own, as the peak of a child counts from what its parent had when it was started:
that of a test runner is beyond any bound of interest.
"""

import os
import resource
import sys

report, space, *command = sys.argv[1:]
child = os.fork()
if child == 0:
    os.close(int(report))
    resource.setrlimit(resource.RLIMIT_AS, (int(space), int(space)))
    os.execv(command[0], command)
os.set_inheritable(int(report), False)
os.write(int(report), f"{child}\n".encode())
_, status, usage = os.wait4(child, 0)
os.write(int(report), f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss * 1024}\n".encode())
