# The gateway in a container: one process, no root, no shell in between, nothing written but /data and /tmp.
#
#   docker build -t hermes-gateway .                       with python3 and httpx, for hooks written in Python
#   docker build -t hermes-gateway --build-arg PYTHON=0 .  without
#
# compose.yaml beside this file runs it closed up: read-only, without privileges, reachable from this machine alone.

ARG NODE=24.21-trixie-slim

FROM node:${NODE} AS build
WORKDIR /app
# Packages first: they change less often than the sources. Installing them packs each one into a file (`prepare`).
COPY package.json package-lock.json .npmrc ./
COPY src/packages/ src/packages/
RUN npm ci
COPY . .
# Only what runs stays: of the packages their packed files, and the one module that the page loads as it is.
RUN test -e node_modules/.hermes/complete && \
    mkdir -p kept/marked/lib hooks plugins .cache && \
    cp -r node_modules/.hermes kept/ && \
    cp node_modules/marked/package.json node_modules/marked/LICENSE* kept/marked/ && \
    cp node_modules/marked/lib/marked.esm.js kept/marked/lib/ && \
    rm -rf node_modules package-lock.json .npmrc && \
    mv kept node_modules && \
    chmod -R a=rX,u+w . && \
    chmod a+x src/main.mjs && \
    chmod a+w .cache
# Compiled once, here, for every start: by the user who will run it, because Node keeps a cache for each.
USER 10001:10001
RUN node src/packages/warm-compile-cache.mjs /app/.cache
USER root
RUN chmod -R a=rX,u+w .cache

FROM node:${NODE}
ARG PYTHON=1
RUN if [ "$PYTHON" != 0 ]; then \
      apt-get update && \
      apt-get install -y --no-install-recommends python3 python3-httpx && \
      rm -rf /var/lib/apt/lists/*; \
    fi && \
    rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* && \
    groupadd --gid 10001 hermes && \
    useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home hermes && \
    install -d -o 10001 -g 10001 -m 0700 /data && \
    ln -s /app/src/main.mjs /usr/local/bin/hermes
COPY --from=build --chown=0:0 /app /app
WORKDIR /app
ENV NODE_ENV=production \
    NODE_COMPILE_CACHE=/app/.cache \
    HOME=/data \
    HERMES_HOME=/data \
    HERMES_HTTP_HOST=0.0.0.0
VOLUME /data
EXPOSE 8642
USER 10001:10001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "require('node:http').get({ host: '127.0.0.1', port: process.env.HERMES_HTTP_PORT || 8642, path: '/healthz', timeout: 4000 }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on('timeout', () => process.exit(1)).on('error', () => process.exit(1))"]
# Node itself is PID 1 and gets the signals. The flags halve the memory under load.
ENTRYPOINT ["node", "--max-semi-space-size=4", "--max-old-space-size=512", "/app/src/main.mjs"]
CMD ["gateway", "run"]
