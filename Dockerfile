# The server on a processor: docker build -t sargnn . && docker run -p 8000:8000 -v $PWD/runs:/runs:ro -v $PWD/token:/token:ro sargnn /runs/NAME --host 0.0.0.0 --token-file /token
FROM python:3.12-slim AS build
COPY requirements-build.lock requirements-image.lock /source/
RUN python -m venv /build && /build/bin/pip install --no-cache-dir --require-hashes -r /source/requirements-build.lock \
    && python -m venv --without-pip /venv && /build/bin/pip --python /venv/bin/python install --no-cache-dir \
       --extra-index-url https://download.pytorch.org/whl/cpu --require-hashes -r /source/requirements-image.lock
COPY pyproject.toml README.md LICENSE /source/
COPY src /source/src
RUN /build/bin/python -m build --wheel --no-isolation --outdir /dist /source \
    && /build/bin/pip --python /venv/bin/python install --no-cache-dir --no-index --no-deps /dist/*.whl

FROM python:3.12-slim
# A compiler for the kernels, which are made for the processor they run on; two libraries that RDKit draws with.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev libxrender1 libxext6 \
    && rm -rf /var/lib/apt/lists/* && useradd --create-home --uid 10001 sargnn
COPY --from=build /venv /venv
USER 10001
WORKDIR /home/sargnn
EXPOSE 8000
HEALTHCHECK CMD ["/venv/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/live', timeout=3)"]
ENTRYPOINT ["/venv/bin/sargnn", "serve"]
