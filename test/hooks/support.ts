/**
 * A HookRegistry on a home of its own, with real hosts; what its handlers send is recorded.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type HooksConfig, hooksConfig } from '../../src/hooks/config.ts'
import type { HookStatus } from '../../src/hooks/hook-status.ts'
import { noPluginEvents, type PluginEvents } from '../../src/hooks/plugin-events.ts'
import { createHookRegistry, type HookRegistry } from '../../src/hooks/registry.ts'
import type { HookGatewayServices } from '../../src/hooks/services.ts'
import type { HostOptions } from '../../src/hosts/contract.ts'
import { createHost } from '../../src/hosts/host.ts'
import { withTimeout } from '../../src/lib/timers.ts'
import { type HookEvents, hookEventNames } from '../../src/message/hook-events.ts'
import { createRecordingLog, type Files, path, python, type RecordingLog, writeFiles } from '../hosts/support.ts'
import { strippedTypesDirectory } from '../kit/compile-cache.ts'
import { tempHome } from '../kit/temp-home.ts'
import { waitLimitMs } from '../kit/wait-limit.ts'

export { path, python, withoutPython } from '../hosts/support.ts'

export interface HooksSetup {
  /** By path within the folder of hooks: `greeter/HOOK.yaml`. */
  readonly files?: Files
  /** Hooks that ship with the gateway. */
  readonly shipped?: Files
  readonly settings?: Readonly<Record<string, unknown>>
  readonly environment?: Readonly<Record<string, string>>
  readonly services?: Partial<HookGatewayServices>
  readonly limits?: HostOptions['limits']
  readonly clock?: () => number
  /** Programs of the configuration run without having been accepted; true if left out. */
  readonly acceptsAll?: boolean
  readonly pluginEvents?: PluginEvents
}

export interface SentMessage {
  readonly hook: string
  readonly target: string
  readonly text: string
}

export interface HooksUnderTest {
  readonly registry: HookRegistry
  readonly log: RecordingLog
  readonly home: string
  /** The user's folder of hooks. */
  readonly folder: string
  /** What handlers sent, in the order it came. */
  readonly sent: readonly SentMessage[]
  readonly settings: { hooks: HooksConfig; environment: Record<string, string> }
  /** Processes that were made for hooks, started or not. */
  readonly hosts: readonly HostOptions[]
  /** Resolves when this many messages were sent; rejects when that takes too long. */
  waitForSent(count: number): Promise<readonly SentMessage[]>
  /** Resolves when a message fits; rejects when that takes too long. */
  waitForMessage(fits: (sent: SentMessage) => boolean): Promise<SentMessage>
  write(files: Files): void
  remove(name: string): void
  status(name: string): HookStatus
}

export const commands: Readonly<Record<string, string>> = { new: 'new', reset: 'new', stop: 'stop', status: 'status' }

/** Ends with the test. Nothing is discovered yet. */
export function createTestHooks(t: TestContext, setup: HooksSetup = {}): HooksUnderTest {
  const home = tempHome(t)
  const folder = join(home, 'hooks')
  const shipped = join(home, 'shipped')
  mkdirSync(folder, { mode: 0o700 })
  writeFiles(shipped, setup.shipped ?? {})
  writeFiles(folder, setup.files ?? {})
  const log = createRecordingLog()
  const sent: SentMessage[] = []
  const hosts: HostOptions[] = []
  const checks = new Set<() => void>()
  const settings = {
    hooks: hooksConfig.hooks.parse({ python: python ?? 'python3', ...setup.settings }),
    environment: { PATH: path, HOME: home, ...setup.environment },
  }
  const registry = createHookRegistry({
    roots: [
      { path: shipped, origin: 'shipped' },
      { path: folder, origin: 'home' },
    ],
    folder,
    home,
    cacheFolder: strippedTypesDirectory(),
    manifestCache: join(home, 'cache', 'hooks.json'),
    settings: () => settings.hooks,
    environment: () => settings.environment,
    createHost(options) {
      hosts.push(options)
      return createHost({ ...options, limits: { graceMs: 60, exitTimeoutMs: 500, ...setup.limits } })
    },
    emittedEvents: () => [...hookEventNames, ...new Set(Object.values(commands).map((name) => `command:${name}`))],
    resolveCommand: (name) => commands[name],
    services: {
      async send(hook, target, text) {
        sent.push({ hook, target, text })
        for (const check of [...checks]) check()
      },
      startAgent: async () => Promise.reject(new Error('startAgent is not available yet')),
      ...setup.services,
    },
    clock: setup.clock ?? Date.now,
    pluginEvents: setup.pluginEvents ?? noPluginEvents,
    newId: () => 'd1',
    acceptsAll: () => setup.acceptsAll ?? true,
    log,
  })
  t.after(() => registry.stop(0))

  function waitUntil<T>(what: string, look: () => T | undefined): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>()
    const watcher = () => {
      const found = look()
      if (found === undefined) return
      checks.delete(watcher)
      resolve(found)
    }
    checks.add(watcher)
    watcher()
    return withDeadline(
      promise,
      () => `${what}; sent: ${JSON.stringify(sent)}; log: ${JSON.stringify(log.records.slice(-10))}`,
    )
  }

  return {
    registry,
    log,
    home,
    folder,
    sent,
    settings,
    hosts,
    waitForSent: (count) => waitUntil(`${count} messages`, () => (sent.length >= count ? sent : undefined)),
    waitForMessage: (fits) => waitUntil('a message', () => sent.find(fits)),
    write: (files) => writeFiles(folder, files),
    remove: (name) => rmSync(join(folder, name), { recursive: true, force: true }),
    status(name) {
      const found = registry.list().find((one) => one.name === name)
      if (found === undefined) throw new Error(`no hook is called ${name}`)
      return found
    },
  }
}

/** Rejects when that takes too long, with what was waited for. */
export async function withDeadline<T>(work: Promise<T>, what: () => string): Promise<T> {
  const result = await withTimeout(work, waitLimitMs())
  if (result.done) return result.value
  throw new Error(`waited in vain for ${what()}`)
}

/** A manifest. */
export function hookYaml(events: readonly string[], more = ''): string {
  return `description: made for a test\nevents:\n${events.map((event) => `  - "${event}"\n`).join('')}${more}`
}

/** A handler in JavaScript that sends what it hears: `<event> <text> <word>`. */
export function sendingHandler(word = ''): string {
  return `export const handle = async (event, context, { gateway }) => {
    await gateway.send('there', [event, context.message ?? context.command ?? '', ${JSON.stringify(word)}].join(' ').trim())
  }\n`
}

/** The same in Python. */
export function pythonSendingHandler(word = ''): string {
  return `async def handle(event_type, context, services):
    text = " ".join([event_type, str(context.get("message") or context.get("command") or ""), ${JSON.stringify(word)}])
    await services.gateway.send("there", text.strip())
`
}

export function agentStart(message: string): HookEvents['agent:start'] {
  return {
    platform: 'fake',
    user_id: 'ada',
    session_id: 's1',
    session_key: 'agent:main:fake:dm:c1',
    chat_id: 'c1',
    thread_id: '',
    chat_type: 'dm',
    message,
    message_full: message,
  }
}

export function command(name: string, args = '', typed = name): HookEvents[`command:${string}`] {
  return { platform: 'fake', user_id: 'ada', command: name, args, raw_command: typed, raw_args: args }
}
