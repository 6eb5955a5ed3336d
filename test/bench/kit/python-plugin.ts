/**
 * A Python plugin with real hooks and real managed calls.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createHost } from '../../../src/hosts/host.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { sleep } from '../../../src/lib/timers.ts'
import { createMiddleware } from '../../../src/middleware/middleware.ts'
import { createPluginContext, type PluginServices } from '../../../src/plugins/context.ts'
import { createPluginHooks } from '../../../src/plugins/hooks/plugin-hooks.ts'
import { parsePluginManifest } from '../../../src/plugins/manifest.ts'
import { createPythonPlugins } from '../../../src/plugins/python/python-plugins.ts'
import { createRegistrations } from '../../../src/plugins/registrations.ts'

export interface BenchPythonPlugin {
  /** One hook with a result. */
  hook(): Promise<unknown>
  /** One tool call whose arguments and result pass through `next_call` unchanged. */
  tool(): Promise<unknown>
  stop(): Promise<void>
}

const text = `def decide(tool_name, **kwargs):
    return {"action": "modify", "args": {"seen": tool_name}}
def around(args, next_call, **kwargs):
    return next_call(args)
def register(ctx):
    ctx.register_hook("pre_tool_call", decide)
    ctx.register_middleware("tool_execution", around)
`

/** @param command the path of the real interpreter */
export async function pythonPlugin(command: string): Promise<BenchPythonPlugin> {
  const folder = mkdtempSync(join(tmpdir(), 'hermes-bench-'))
  const entryFile = join(folder, 'snake', '__init__.py')
  mkdirSync(join(folder, 'snake'))
  writeFileSync(entryFile, text)
  const checked = parsePluginManifest('name: snake\n', 'plugin.yaml', { directoryName: 'snake' })
  if (!checked.ok) throw new Error(checked.issues.join())
  const log = silentLog
  const middleware = createMiddleware({ log })
  const hooks = createPluginHooks({ log, now: Date.now, sleep, timeoutMs: () => 30_000 }, () => 'open')
  const python = createPythonPlugins({
    createHost,
    home: folder,
    launchOptionsOf: () => ({ env: { PATH: process.env['PATH'] ?? '' }, command }),
    hookTimeoutMs: () => 30_000,
    clock: Date.now,
    random: Math.random,
    sleep,
  })
  const plugin = {
    id: 'snake',
    origin: 'home',
    directory: join(folder, 'snake'),
    manifestFile: join(folder, 'snake', 'plugin.yaml'),
    entryFile,
    language: 'python',
    manifest: checked.manifest,
  } as const
  const registrations = createRegistrations('snake', log)
  const context = createPluginContext({
    plugin,
    services: { ...unusedServices, middleware, hooks },
    registrations,
    config: { get: () => undefined, all: {} },
    hasPlugin: () => false,
    environment: () => ({}),
    log,
  })
  const running = await python.load(plugin, context, Promise.resolve())
  const at = { route: 'web_dm', queueKey: 'web:dm:1' }
  const keys = {
    tool_name: 'terminal',
    args: { command: 'ls' },
    task_id: 's',
    session_id: 's',
    tool_call_id: 'c',
    turn_id: 't',
    api_request_id: 'r',
    role: 'owner' as const,
    middleware_trace: [],
  }
  return {
    hook: () => hooks.collect('pre_tool_call', at, () => keys),
    tool: () =>
      middleware.tool({
        toolName: 'terminal',
        toolCallId: 'c',
        args: { command: 'ls' },
        handler: async () => ({ output: 'file' }),
      }),
    async stop() {
      await registrations.dispose()
      await running.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function unused(): never {
  throw new Error('this plugin registers nothing of that kind')
}

const unusedServices: Omit<PluginServices, 'middleware' | 'hooks'> = {
  home: '',
  tools: { register: unused, check: () => undefined },
  commands: { register: unused, check: () => undefined },
  memory: { register: unused },
  environments: { register: unused },
  sections: { register: unused },
  skills: { register: unused },
  daemons: { register: unused, stopped: async () => undefined },
  state: () => ({ get: unused, set: unused, delete: unused, keys: unused }),
  complete: unused,
  injectMessage: unused,
  dispatchTool: unused,
  callMcp: unused,
}
