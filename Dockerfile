# The server: docker build -t sargnn . && docker run -p 8000:8000 -v $PWD/runs:/runs:ro -v $PWD/token:/token:ro sargnn /runs/NAME --host 0.0.0.0 --token-file /token
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
       --constraint /source/constraints.txt "/source[serve,chem]"

FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev libxrender1 libxext6 \
    && rm -rf /var/lib/apt/lists/* && useradd --create-home sargnn
COPY --from=build /venv /venv
USER sargnn
EXPOSE 8000
HEALTHCHECK CMD ["/venv/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/live')"]
ENTRYPOINT ["/venv/bin/sargnn", "serve"]
