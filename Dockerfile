# The gateway in a container: one process, started without a shell and without root. It writes only to /data and /tmp.
#
#   docker build -t hermes-gateway .                       with python3 and httpx, for hooks in Python
#   docker build -t hermes-gateway --build-arg PYTHON=0 .  without
#
# compose.yaml runs the image read-only, without privileges, and reachable only from this machine.

# The tag for people, the digest of its image index for the build: a tag can be moved to another image.
ARG NODE=24.21-trixie-slim@sha256:8ec5d7557396cfe32d21c3f9c13072355ceab22b584578ca4bb28af31120cffe

FROM node:${NODE} AS build
WORKDIR /build
# Packages are installed first, because they change less often than the sources.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY . .
# The image contains the package as it is published, and what controls a browser (browser.cdp_url; there is none in the image).
RUN npm pack && \
    mkdir -p /app/node_modules && \
    tar -xzf hermes-gateway-*.tgz -C /app --strip-components=1 && \
    rm -rf /app/README.md /app/dist/types && \
    cp -r node_modules/playwright-core /app/node_modules/ && \
    rm -rf /app/node_modules/playwright-core/types && \
    rm -rf /app/node_modules/playwright-core/lib/vite && \
    rm -rf /app/node_modules/playwright-core/lib/tools && \
    chmod -R a=rX,u+w /app && \
    chmod a+x /app/dist/src/main.mjs

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
    install -d -o 10001 -g 10001 -m 0700 /data /backups && \
    ln -s /app/dist/src/main.mjs /usr/local/bin/hermes
COPY --from=build --chown=0:0 /app /app
WORKDIR /app
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=1 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    MALLOC_MMAP_THRESHOLD_=32768 \
    HOME=/data \
    HERMES_HOME=/data \
    HERMES_HTTP_HOST=0.0.0.0
VOLUME /data
EXPOSE 8642
USER 10001:10001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "require('node:http').get({ host: '127.0.0.1', port: process.env.HERMES_HTTP_PORT || 8642, path: '/healthz', timeout: 4000 }, (response) => process.exit(response.statusCode === 200 ? 0 : 1)).on('timeout', () => process.exit(1)).on('error', () => process.exit(1))"]
# Node is PID 1 and receives the signals. The flags and MALLOC_… halve the memory usage under load.
ENTRYPOINT ["node", "--min-semi-space-size=2", "--max-semi-space-size=16", "--initial-old-space-size=64", "--max-old-space-size=512", "--expose-gc", "/app/dist/src/main.mjs"]
CMD ["gateway", "run"]
