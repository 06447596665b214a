# PLANT on processors: commands of `plant`, models and data mounted from outside (docs/new_documents.md).
#
#   docker build --tag plant-plugin .
#
# For a small image name torch's own index of builds for processors:
#   --build-arg PIP_EXTRA_INDEX_URL=…
FROM python:3.11-slim AS build
ARG PIP_EXTRA_INDEX_URL
# liblinear-multicore, which LibMultiLabel needs, is handed out as C++ alone.
RUN apt-get update && apt-get install --yes --no-install-recommends g++
WORKDIR /source
COPY pyproject.toml constraints.txt registry.yaml README.md LICENSE ./
COPY plant_plugin ./plant_plugin
RUN python -m venv /opt/plant
RUN /opt/plant/bin/python -m pip install --no-cache-dir -c constraints.txt '.[serve]'

FROM python:3.11-slim
# The same library runs its threads by it.
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home plant
COPY --from=build /opt/plant /opt/plant
ENV PATH=/opt/plant/bin:$PATH
# Any user can be named with --user, also one without a home.
ENV XDG_CACHE_HOME=/tmp/cache
USER plant
WORKDIR /home/plant
# Of `plant serve` at its usual port; what does not serve ends, or is called unhealthy, which stops nothing.
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/v1/ready', timeout=4)"]
ENTRYPOINT ["plant"]
CMD ["--help"]
