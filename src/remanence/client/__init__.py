"""A memory on a server, with the verbs of one in this process."""

from remanence.client.remote import AsyncRemoteMemory, RemoteMemory

__all__ = ["AsyncRemoteMemory", "RemoteMemory"]
