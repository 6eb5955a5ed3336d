/**
 * Runs a gateway that kills itself at a failpoint. The settings are JSON in the first argument.
 */
import { registerHooks } from 'node:module'
import { bundledPackageUrls } from '../../src/packages/bundled-packages.mjs'
import { createResolver } from '../../src/packages/resolver.mjs'

registerHooks({
  resolve: createResolver({ source: new URL('../../src/', import.meta.url), packed: bundledPackageUrls() }),
})

const { startGateway } = await import('../../src/gateway.ts')
const { createHomeLayout } = await import('../../src/lib/home.ts')
const { home, killAt, killHit } = JSON.parse(process.argv[2] ?? '{}')
let hits = 0

const layout = createHomeLayout(home)
const stop = Promise.withResolvers()
process.once('SIGTERM', () => stop.resolve())
const gateway = await startGateway({
  home: layout,
  version: 'crash-test',
  environment: { PATH: process.env['PATH'], HOME: home },
  platformDirectories: [layout.platforms],
  commandLine: ['true'],
  log: { pretty: false, stream: process.stderr },
  failpoint(point) {
    if (point !== killAt) return
    hits += 1
    if (hits === killHit) process.kill(process.pid, 'SIGKILL')
  },
})
process.stdout.write('ready\n')
await stop.promise
await gateway.stop()
process.exit(0)
