"""State machines without any I/O, which both clients run: a subscription, an answer, and a response that arrives.

They import requests, replies, :mod:`reel.wire` and what these stand on, and neither client. Begin with
:mod:`reel.machines.subscription_state`, whose docstring says how such a machine is used.
"""
