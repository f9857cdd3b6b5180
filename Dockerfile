# Build with `make image`. The tag moves: `make image BASE=python@sha256:...` builds on what was checked, and the same again.
ARG BASE=python:3.13-slim

FROM ${BASE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_NO_COMPILE=1 \
    PIP_ROOT_USER_ACTION=ignore \
    SOURCE_DATE_EPOCH=0
WORKDIR /src
# The locked dependencies have a layer of their own, which a change of the code leaves as it is. Wheels only: nothing
# is compiled, so no compiler is needed and no setup script of a dependency is run.
COPY requirements/run.txt requirements/
RUN python -m venv --without-pip /opt/tradewind \
 && pip --python /opt/tradewind install --only-binary :all: --require-hashes --requirement requirements/run.txt
# .dockerignore says what this is.
COPY . .
# The build backend has done its work then. Bytecode is made here, without time stamps, because the root file system
# may be read-only where this runs.
RUN pip --python /opt/tradewind install --no-deps --no-build-isolation . \
 && pip --python /opt/tradewind uninstall --yes editables hatchling \
 && python -m compileall -q --invalidation-mode unchecked-hash /opt/tradewind/lib

FROM ${BASE}
LABEL org.opencontainers.image.title="Tradewind" \
      org.opencontainers.image.description="Price- and risk-aware placement for Kubernetes: a kube-scheduler extender" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/tradewind /opt/tradewind
ENV PATH=/opt/tradewind/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
# A number, so that Kubernetes can tell without the image's /etc/passwd that it is not root.
USER 65532:65532
EXPOSE 8888 8889
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["python", "-Ic", "import sys, http.client as h; c = h.HTTPConnection('127.0.0.1', 8889, timeout=4); c.request('GET', '/healthz'); sys.exit(c.getresponse().status != 200)"]
ENTRYPOINT ["tradewind"]
# All addresses, because a container's loopback reaches nobody. Whoever gives other arguments keeps the probe port, or
# gives another health check too.
CMD ["serve", "--host", "0.0.0.0", "--port", "8888", "--probe-port", "8889"]
