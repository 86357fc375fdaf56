# The command line and the studio in a container, for a user who is not root. docs/installing.md says how to run it.
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN python -m venv /opt/indistinct \
    && /opt/indistinct/bin/pip install --no-cache-dir ".[excel,postgres,sign,statistics,studio]"

FROM python:3.13-slim
LABEL org.opencontainers.image.title="indistinct" \
      org.opencontainers.image.source="https://github.com/indistinct/indistinct" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/indistinct /opt/indistinct
ENV PATH="/opt/indistinct/bin:$PATH" \
    HOME=/tmp \
    NUMBA_CACHE_DIR=/opt/kernels \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# Kernels are compiled once, here, so that a container without a disk of its own starts at once; everybody may read them.
RUN install -d -m 0755 -o 10001 -g 10001 /opt/kernels /data
USER 10001:10001
RUN indistinct doctor --compile && indistinct demo > /dev/null
WORKDIR /data
ENTRYPOINT ["indistinct"]
CMD ["--help"]
