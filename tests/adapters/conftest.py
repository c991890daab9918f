"""The same fixtures as the tests with the vendors' SDKs have."""

from tests.sdks.conftest import client, daemon  # noqa: F401 - for every test here
