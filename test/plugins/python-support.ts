/**
 * Plugins in Python that are written as texts, in real processes, with the real rooms that they register with.
 */
import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Host, HostOptions } from '../../src/hosts/contract.ts'
import { createHost } from '../../src/hosts/host.ts'
import { sleep } from '../../src/lib/timers.ts'
import type { Middleware } from '../../src/middleware/managed-call.ts'
import { createMiddleware } from '../../src/middleware/middleware.ts'
import type { PluginServices } from '../../src/plugins/context.ts'
import { createDaemons, type Daemons } from '../../src/plugins/daemons/daemons.ts'
import { createPluginHooks, type PluginHooks } from '../../src/plugins/hooks/plugin-hooks.ts'
import { createPluginStates } from '../../src/plugins/plugin-state.ts'
import type { PythonPluginsDeps } from '../../src/plugins/python/contract.ts'
import { createPythonPlugins } from '../../src/plugins/python/python-plugins.ts'
import { path, python, type RecordingLog } from '../hosts/support.ts'
import { tempHome } from '../kit/temp-home.ts'
import { createTestLoader, type Files, type LoaderSetup, type TestLoader } from './loader-support.ts'

export interface PythonSetup extends Partial<Omit<PythonPluginsDeps, 'createHost' | 'home'>> {
  /** The body of `__init__.py` by the plugin's name. */
  readonly plugins?: Readonly<Record<string, string>>
  readonly files?: Files
  readonly loading?: Partial<LoaderSetup>
  readonly services?: Partial<PluginServices>
  /** The grace period after an abort, ms. */
  readonly graceMs?: number
}

export interface TestPythonPlugins extends TestLoader {
  readonly middleware: Middleware
  readonly hooks: PluginHooks
  readonly daemons: Daemons
  readonly hosts: readonly { readonly options: HostOptions; readonly host: Host }[]
  /** Where plugins may write: `HERMES_HOME`. */
  readonly home: string
  /** Returns the pid of the process that runs now. */
  pid(): number
}

/** The files of a plugin. */
export function pythonPluginFiles(name: string, text: string, manifest = `name: ${name}\n`): Files {
  return { [`${name}/plugin.yaml`]: manifest, [`${name}/__init__.py`]: text }
}

export const environment = { PATH: path, HOME: '/nonexistent' }

/** Everything is loaded when this resolves. */
export async function startPythonPlugins(t: TestContext, setup: PythonSetup): Promise<TestPythonPlugins> {
  const home = realpathSync(tempHome(t))
  const hosts: { options: HostOptions; host: Host }[] = []
  const files = Object.entries(setup.plugins ?? {}).map(([name, text]) => pythonPluginFiles(name, text))
  let log: RecordingLog | undefined
  // The loader brings the log, and everything else needs it.
  const lateLog = lateLogger(() => log)
  const middleware = createMiddleware({ log: lateLog, graceMs: setup.graceMs ?? 5_000 })
  const hooks = createPluginHooks(
    { log: lateLog, now: Date.now, sleep, timeoutMs: setup.hookTimeoutMs ?? (() => 30_000) },
    () => 'open',
  )
  const daemons = createDaemons({ log: lateLog, clock: Date.now, sleep, random: () => 0 })
  const plugins = createPythonPlugins({
    createHost(options) {
      const host = createHost({ ...options, limits: { ...options.limits, graceMs: 60, exitTimeoutMs: 500 } })
      hosts.push({ options, host })
      return host
    },
    home,
    launchOptionsOf: () => ({ env: { ...environment, HERMES_HOME: home }, command: python ?? 'python3' }),
    hookTimeoutMs: () => 30_000,
    clock: Date.now,
    random: () => 0,
    sleep,
    ...setup,
  })
  const loading = createTestLoader(t, {
    ...setup.loading,
    files: Object.assign({}, ...files, setup.files),
    loadPython: plugins.load,
    services: {
      middleware,
      hooks,
      daemons,
      state: createPluginStates(join(home, 'state'), lateLog),
      ...setup.services,
    },
  })
  log = loading.log
  t.after(() => daemons.stop())
  await loading.loader.sync()
  return { ...loading, middleware, hooks, daemons, hosts, home, pid: () => hosts.at(-1)?.host.status().pid ?? 0 }
}

function lateLogger(log: () => RecordingLog | undefined): RecordingLog {
  const known = () => {
    const found = log()
    if (found === undefined) throw new Error('it logs before there is a log')
    return found
  }
  return {
    debug: (...line) => known().debug(...line),
    info: (...line) => known().info(...line),
    warn: (...line) => known().warn(...line),
    error: (...line) => known().error(...line),
    child: (fields) => known().child(fields),
    get records() {
      return known().records
    },
    waitForLine: (pattern) => known().waitForLine(pattern),
    waitForEvent: (event, fields) => known().waitForEvent(event, fields),
  }
}

/** A place where many meet: each waits until all are there. */
export function createBarrier(of: number): () => Promise<void> {
  let there = 0
  const all = Promise.withResolvers<void>()
  return () => {
    there += 1
    if (there === of) all.resolve()
    return all.promise
  }
}
