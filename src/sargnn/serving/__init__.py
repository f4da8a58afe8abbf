"""A server of trained models: REST, and a page to look at what they say (extra: ``serve``)."""
