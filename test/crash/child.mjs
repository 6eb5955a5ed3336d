/**
 * Runs a gateway that kills itself at a failpoint. The settings are JSON in the first argument; a message of the parent
 * replaces the failpoint. `bundle` is the directory of a bundle of the sources (`kit/gateway-bundle.ts`).
 */
import { subscribe } from 'node:diagnostics_channel'
import { flushCompileCache, registerHooks } from 'node:module'
import { bundledPackageUrls } from '../../src/packages/bundled-packages.mjs'
import { createResolver } from '../../src/packages/resolver.mjs'
import { loadFromBundle } from '../kit/load-gateway-bundle.mjs'

const { home, bundle, ...first } = JSON.parse(process.argv[2] ?? '{}')
registerHooks({ resolve: createResolver(bundledPackageUrls()) })
if (bundle !== undefined) loadFromBundle(bundle)

const { startGateway } = await import('../../src/gateway.ts')
const { createHomeLayout } = await import('../../src/lib/home.ts')
let { killAt, killHit } = first
let hits = 0

/** @param {unknown} point */
function failpoint(point) {
  if (point !== killAt) return
  hits += 1
  if (hits === killHit) process.kill(process.pid, 'SIGKILL')
}

process.on('message', (/** @type {{ killAt: string, killHit: number }} */ kill) => {
  killAt = kill.killAt
  killHit = kill.killHit
  hits = 0
  process.send?.('armed')
})
// The failpoints of the adapter, which is installed in the home.
subscribe('crash-test:failpoint', failpoint)

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
  failpoint,
})
process.stdout.write('ready\n')
// A process that is killed would not write its cache.
flushCompileCache()
await stop.promise
await gateway.stop()
process.exit(0)
