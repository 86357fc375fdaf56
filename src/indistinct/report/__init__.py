"""Reports: what people look at, drawn without the network and without a browser."""
