/**
 * Joins the room of the hooks with the rooms it needs: who may be written to, which commands there are, which processes
 * run handlers.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CommandRegistry } from '../commands/registry.ts'
import type { Config } from '../config/load.ts'
import type { HookFolder } from '../hooks/discovery.ts'
import { createHookRegistry, type HookRegistry } from '../hooks/registry.ts'
import type { ServicesForHooks } from '../hooks/services.ts'
import { createHost } from '../hosts/host.ts'
import { HermesError } from '../lib/errors.ts'
import type { HomeLayout } from '../lib/home.ts'
import { uuid7 } from '../lib/ids.ts'
import type { Logger } from '../lib/log.ts'
import { cutForHooks, type EventListener, hookEventNames } from '../message/hook-events.ts'
import { backgroundPlatform } from '../message/source.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { SettledMessage } from '../outbox/room.ts'
import { platformOf } from '../sessions/session-key.ts'
import type { Store } from '../store/store.ts'
import type { Background } from './background.ts'
import type { GatewayShapes } from './config.ts'
import type { People } from './people.ts'
import { parseDelivery, parseTarget } from './target-text.ts'

export interface GatewayHooksDeps {
  readonly home: HomeLayout
  readonly config: Config<GatewayShapes>
  readonly commands: CommandRegistry
  readonly services: ServicesForHooks
  /** Runs the programs of the configuration although nobody has accepted them. */
  readonly acceptsAll?: boolean
  readonly clock: () => number
  readonly log: Logger
}

/** Hooks that ship with the gateway. */
const shippedHooks = fileURLToPath(new URL('../../hooks', import.meta.url))

export function hookFolders(home: HomeLayout): readonly HookFolder[] {
  return [
    { path: shippedHooks, origin: 'shipped' },
    { path: home.hooks, origin: 'home' },
  ]
}

export function createGatewayHooks(deps: GatewayHooksDeps): HookRegistry {
  const { home, config, commands, services, acceptsAll = false, clock, log } = deps
  return createHookRegistry({
    roots: hookFolders(home),
    folder: home.hooks,
    home: home.root,
    cacheFolder: join(home.cache, 'handlers'),
    manifestCache: join(home.cache, 'hooks.json'),
    settings: () => config.current().hooks,
    environment: () => config.environment().values,
    createHost,
    emitted: () => emittedEvents(commands),
    commandCalled: (name) => commands.resolve(name)?.name,
    services,
    acceptsAll: () => acceptsAll || config.current().hooks_auto_accept || isOn(config.environment().values),
    fetch,
    newId: () => uuid7(clock()),
    clock,
    log,
  })
}

function isOn({ HERMES_ACCEPT_HOOKS = '' }: Readonly<Record<string, string>>): boolean {
  return /^(1|true|yes|on)$/i.test(HERMES_ACCEPT_HOOKS)
}

export interface HookServicesDeps {
  readonly people: Pick<People, 'accounts'>
  readonly store: Store
  readonly outbox: Pick<Outbox, 'prepare'>
  readonly startTask: Background['start']
  /** Tasks that have not ended. */
  readonly openTasks: Background['open']
  readonly clock: () => number
  readonly log: Logger
}

/** Of one hook: a loop in a handler must not become a bill. */
const maxOpenTasks = 50

/** What handlers may ask of a running gateway. */
export function createHookServices({
  people,
  store,
  outbox,
  startTask,
  openTasks,
  clock,
  log,
}: HookServicesDeps): ServicesForHooks {
  /** Hooks whose tasks are on their way to the disk, each as often. */
  const starting: string[] = []
  const countOf = (name: string) =>
    openTasks().filter(({ by }) => by === name).length + starting.filter((one) => one === name).length
  return {
    async send(hook, to, text) {
      const found = parseTarget(to, people.accounts())
      if ('problem' in found) throw new HermesError('hooks/no-target', `(${found.problem})`)
      const now = clock()
      // A notice names no files: what hooks pass on may be the words of strangers.
      const message = outbox.prepare({ key: `${hookPrefix}${uuid7(now)}`, target: found.target, kind: 'notice', text })
      try {
        await store.run(() => message.write(now))
      } catch (error) {
        message.abandoned()
        throw error
      }
      message.committed()
      log.info({ hook, platform: found.target.platform, chat: found.target.chatId }, 'a hook sends a message')
    },
    async startAgent(hook, prompt, { deliver, maxIterations, route }) {
      const found = parseDelivery(deliver, people.accounts())
      if ('problem' in found) throw new HermesError('hooks/no-target', `(${found.problem})`)
      const by = { id: `hook:${hook}`, name: `hook ${hook}` }
      if (countOf(by.name) >= maxOpenTasks)
        throw new Error(`startAgent: ${maxOpenTasks} tasks of this hook have not ended; more are not begun`)
      starting.push(by.name)
      try {
        return await startTask({ prompt, by, deliver: found.target, maxIterations, route })
      } finally {
        starting.splice(starting.indexOf(by.name), 1)
      }
    },
  }
}

/** Every event there is, also those of commands. */
export function emittedEvents(commands: Pick<CommandRegistry, 'list'>): string[] {
  return [...hookEventNames, ...commands.list().map(({ name }) => `command:${name}`)]
}

/** How the keys of messages begin that hooks send. */
const hookPrefix = 'hook:'

/**
 * What became of a message of ours, as a gateway event. Nothing is told of what hooks send: two that answer each other would
 * never end. Answers of background tasks are no events either (src/gateway/background.ts).
 */
export function tellSettled(message: SettledMessage, emit: EventListener): void {
  const { key, target, sessionKey, kind, text, messageId, error } = message
  if (key.startsWith(hookPrefix)) return
  if (sessionKey !== null && platformOf(sessionKey) === backgroundPlatform) return
  const context = {
    platform: target.platform,
    chat_id: target.chatId,
    thread_id: target.threadId ?? '',
    session_key: sessionKey ?? '',
    kind,
    message: cutForHooks(text),
    message_full: text,
  }
  if (error === undefined) emit('message:sent', { ...context, message_id: messageId ?? '' })
  else emit('message:failed', { ...context, error })
}
