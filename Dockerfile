# The service. The store lives in the volume /data; a PostgreSQL store is named by BAROGRAPH_STORE.
#   docker build --tag barograph .
#   docker run --volume barograph:/data barograph token add ci --scope ingest
#   docker run --publish 8000:8000 --volume barograph:/data barograph
FROM python:3.12-slim

RUN useradd --create-home --uid 1000 barograph && mkdir /data && chown barograph /data
WORKDIR /opt/barograph
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir '.[service,postgres]'

USER barograph
ENV BAROGRAPH_STORE=/data/barograph.db NUMBA_CACHE_DIR=/home/barograph/kernels
# Compile now, so that the service is ready within seconds of its first start.
RUN barograph warmup
VOLUME /data
WORKDIR /data
EXPOSE 8000
HEALTHCHECK CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/health')"]
ENTRYPOINT ["barograph"]
CMD ["serve", "--host", "0.0.0.0"]
