/**
 * A plugin loader on a home of its own, with plugins that are written as texts; what they register is recorded.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { memoryConfig } from '../../src/agent/memory/config.ts'
import type { MiddlewareRegistrar, Registration } from '../../src/middleware/contract.ts'
import { type PluginsConfig, pluginsConfig } from '../../src/plugins/config.ts'
import type { PluginServices } from '../../src/plugins/context.ts'
import type { PluginLoaderDeps } from '../../src/plugins/load-plugin.ts'
import { createPluginLoader, type PluginLoader } from '../../src/plugins/loader.ts'
import type { PluginReport } from '../../src/plugins/plugin-report.ts'
import { createRecordingLog, type RecordingLog } from '../hosts/support.ts'
import { tempHome } from '../kit/temp-home.ts'

/** By path within the folder of plugins: `greeter/index.js`. */
export type Files = Readonly<Record<string, string>>

export interface LoaderSetup
  extends Partial<Pick<PluginLoaderDeps, 'loadPython' | 'observe' | 'registerTimeoutMs' | 'clock'>> {
  readonly files?: Files
  readonly bundled?: Files
  /** `plugins` of the configuration; every plugin of `files` is enabled if left out. */
  readonly plugins?: Readonly<Record<string, unknown>>
  readonly memory?: Readonly<Record<string, unknown>>
  readonly environment?: Readonly<Record<string, string>>
  readonly services?: Partial<PluginServices>
}

export interface TestLoader {
  readonly loader: PluginLoader
  readonly log: RecordingLog
  readonly directory: string
  /** `hook pre_tool_call of greeter`, and with a minus what was taken back, in the order in which it happened. */
  readonly registrationLog: string[]
  /** Callbacks by `kind name`. */
  readonly callbacks: Map<string, (...args: never[]) => unknown>
  configure(plugins: Readonly<Record<string, unknown>>, memory?: Readonly<Record<string, unknown>>): void
  write(files: Files): void
  report(id: string): PluginReport
}

export function writeFiles(folder: string, files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 })
    writeFileSync(file, text)
  }
}

/** A plugin of two files whose `register` has this body. */
export function pluginFiles(id: string, body: string, manifest = ''): Files {
  return {
    [`${id}/plugin.yaml`]: manifest === '' ? `name: ${id.split('/').at(-1)}\n` : manifest,
    [`${id}/index.js`]: `export async function register(ctx) { ${body} }\n`,
  }
}

export function createTestLoader(t: TestContext, setup: LoaderSetup = {}): TestLoader {
  const home = tempHome(t)
  const directory = join(home, 'plugins')
  const bundled = join(home, 'bundled')
  mkdirSync(directory, { mode: 0o755 })
  writeFiles(directory, setup.files ?? {})
  writeFiles(bundled, setup.bundled ?? {})
  const log = createRecordingLog()
  const ids = [...new Set(Object.keys(setup.files ?? {}).map((path) => dirname(path)))]
  const parsed = (plugins: unknown, memory: unknown): PluginsConfig => ({
    plugins: pluginsConfig.plugins.parse(plugins),
    memory: memoryConfig.memory.parse(memory),
  })
  let settings = parsed(setup.plugins ?? { enabled: ids }, setup.memory ?? {})
  const registrationLog: string[] = []
  const callbacks: TestLoader['callbacks'] = new Map()

  function registered(
    owner: string,
    kind: string,
    name: string,
    callback?: (...args: never[]) => unknown,
  ): Registration {
    const what = `${kind} ${name} of ${owner}`
    registrationLog.push(what)
    if (callback !== undefined) callbacks.set(`${kind} ${name}`, callback)
    let there = true
    return {
      name,
      remove() {
        if (there) registrationLog.push(`-${what}`)
        const was = there
        there = false
        return was
      },
    }
  }
  const registrarOf = (owner: string): MiddlewareRegistrar => ({
    registerGuardrail: (name, _on, callback) => registered(owner, 'guardrail', name, callback),
    registerIntercept: (name, _point, callback) => registered(owner, 'intercept', name, callback),
    registerSanitizer: (name, _point, callback) => registered(owner, 'sanitizer', name, callback),
    registerSubscriber: (name, callback) => registered(owner, 'subscriber', name, callback),
    registerMiddleware: (kind, callback) => registered(owner, 'middleware', kind, callback),
  })
  const services: PluginServices = {
    home,
    middleware: { forPlugin: registrarOf },
    hooks: {
      register: (owner, name, callback) => registered(owner, 'hook', name, callback),
      report: () => [],
      notificationsBegun: () => undefined,
    },
    tools: { register: (owner, { name }, run) => registered(owner, 'tool', name, run), check: () => undefined },
    commands: { register: (owner, { name }, run) => registered(owner, 'command', name, run), check: () => undefined },
    memory: { register: (owner, { name }) => registered(owner, 'memory', name) },
    environments: { register: (owner, name) => registered(owner, 'environment', name) },
    sections: { register: (owner, name) => registered(owner, 'section', name) },
    skills: { register: (owner, _directory, { name }) => registered(owner, 'skill', name) },
    daemons: {
      register: (owner, name) => registered(owner, 'daemon', name),
      stopped: async (owner) => void registrationLog.push(`daemons of ${owner} stopped`),
    },
    state: () => ({
      get: async () => undefined,
      set: async () => undefined,
      delete: async () => undefined,
      keys: async () => [],
    }),
    complete: async (_owner, prompt) => ({ text: `answer to ${String(prompt)}`, model: 'm', usage: {} }),
    injectMessage: async () => true,
    dispatchTool: async (_owner, name) => `ran ${name}`,
    callMcp: async () => ({ ok: true, result: '' }),
    ...setup.services,
  }
  const loader = createPluginLoader({
    roots: [
      { path: bundled, origin: 'bundled' },
      { path: directory, origin: 'home' },
    ],
    settings: () => settings,
    environment: () => setup.environment ?? {},
    services,
    loadPython: setup.loadPython,
    observe: setup.observe,
    registerTimeoutMs: setup.registerTimeoutMs,
    clock: setup.clock ?? (() => 0),
    log,
  })
  t.after(() => loader.stop())
  return {
    loader,
    log,
    directory,
    registrationLog,
    callbacks,
    configure(plugins, memory = {}) {
      settings = parsed(plugins, memory)
    },
    write: (files) => writeFiles(directory, files),
    report(id) {
      const found = loader.list().find((one) => one.id === id)
      if (found === undefined) throw new Error(`there is no plugin ${id}`)
      return found
    },
  }
}
