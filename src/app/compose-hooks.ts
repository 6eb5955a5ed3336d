/**
 * Joins the room of the hooks with the rooms it needs: who may be written to, which commands there are, which processes
 * run handlers.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CommandRegistry } from '../commands/registry.ts'
import type { Config } from '../config/load.ts'
import type { AccountDirectory } from '../flows/account-directory.ts'
import type { BackgroundTasks } from '../flows/background-tasks.ts'
import { parseDelivery, parseTarget } from '../flows/parse-target.ts'
import type { HookRoot } from '../hooks/discovery.ts'
import { createHookRegistry, type HookRegistry } from '../hooks/registry.ts'
import type { HookGatewayServices } from '../hooks/services.ts'
import { createHost } from '../hosts/host.ts'
import { HermesError } from '../lib/errors.ts'
import type { HomeLayout } from '../lib/home.ts'
import { uuid7 } from '../lib/ids.ts'
import type { Logger } from '../lib/log.ts'
import { type HookEventListener, hookEventNames, truncateForHooks } from '../message/hook-events.ts'
import { backgroundPlatform } from '../message/source.ts'
import type { FinishedMessage } from '../outbox/context.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { platformOf } from '../sessions/session-key.ts'
import type { Store } from '../store/store.ts'
import type { GatewayShapes } from './config.ts'

export interface ComposeHooksDeps {
  readonly home: HomeLayout
  readonly config: Config<GatewayShapes>
  readonly commands: CommandRegistry
  readonly services: HookGatewayServices
  /** Runs the programs of the configuration although nobody has accepted them. */
  readonly acceptAll?: boolean
  readonly clock: () => number
  readonly log: Logger
}

/** Hooks that ship with the gateway. */
const shippedHooksDirectory = fileURLToPath(new URL('../../hooks', import.meta.url))

export function hookDirectories(home: HomeLayout): readonly HookRoot[] {
  return [
    { path: shippedHooksDirectory, origin: 'shipped' },
    { path: home.hooks, origin: 'home' },
  ]
}

export function composeHooks(deps: ComposeHooksDeps): HookRegistry {
  const { home, config, commands, services, acceptAll = false, clock, log } = deps
  return createHookRegistry({
    roots: hookDirectories(home),
    folder: home.hooks,
    home: home.root,
    cacheFolder: join(home.cache, 'handlers'),
    manifestCache: join(home.cache, 'hooks.json'),
    settings: () => config.current().hooks,
    environment: () => config.environment().values,
    createHost,
    emittedEvents: () => eventNames(commands),
    resolveCommand: (name) => commands.resolve(name)?.name,
    services,
    acceptsAll: () => acceptAll || config.current().hooks_auto_accept || autoAcceptEnabled(config.environment().values),
    fetch,
    newId: () => uuid7(clock()),
    clock,
    log,
  })
}

function autoAcceptEnabled({ HERMES_ACCEPT_HOOKS = '' }: Readonly<Record<string, string>>): boolean {
  return /^(1|true|yes|on)$/i.test(HERMES_ACCEPT_HOOKS)
}

export interface HookServicesDeps {
  readonly accountDirectory: Pick<AccountDirectory, 'list'>
  readonly store: Store
  readonly outbox: Pick<Outbox, 'prepare'>
  readonly startTask: BackgroundTasks['start']
  /** Tasks that have not ended. */
  readonly openTasks: BackgroundTasks['open']
  readonly clock: () => number
  readonly log: Logger
}

/** Of one hook: a loop in a handler must not become a bill. */
const maxOpenTasksPerHook = 50

/** What handlers may ask of a running gateway. */
export function createHookServices({
  accountDirectory,
  store,
  outbox,
  startTask,
  openTasks,
  clock,
  log,
}: HookServicesDeps): HookGatewayServices {
  /** Hooks whose tasks are on their way to the disk, each as often. */
  const starting: string[] = []
  const openTaskCount = (name: string) =>
    openTasks().filter(({ by }) => by === name).length + starting.filter((one) => one === name).length
  return {
    async send(hook, to, text) {
      const found = parseTarget(to, accountDirectory.list())
      if ('problem' in found) throw new HermesError('hooks/no-target', `(${found.problem})`)
      const now = clock()
      // A notice names no files: what hooks pass on may be the words of strangers.
      const message = outbox.prepare({
        key: `${hookMessagePrefix}${uuid7(now)}`,
        target: found.target,
        kind: 'notice',
        text,
      })
      try {
        await store.run(() => message.write(now))
      } catch (error) {
        message.rolledBack()
        throw error
      }
      message.committed()
      log.info({ hook, platform: found.target.platform, chat: found.target.chatId }, 'a hook sends a message')
    },
    async startAgent(hook, prompt, { deliver, maxIterations, route }) {
      const found = parseDelivery(deliver, accountDirectory.list())
      if ('problem' in found) throw new HermesError('hooks/no-target', `(${found.problem})`)
      const requester = { id: `hook:${hook}`, name: `hook ${hook}` }
      if (openTaskCount(requester.name) >= maxOpenTasksPerHook)
        throw new Error(`startAgent: ${maxOpenTasksPerHook} tasks of this hook have not ended; more are not begun`)
      starting.push(requester.name)
      try {
        return await startTask({ prompt, requester, deliver: found.target, maxIterations, route })
      } finally {
        starting.splice(starting.indexOf(requester.name), 1)
      }
    },
  }
}

/** Every event there is, also those of commands. */
export function eventNames(commands: Pick<CommandRegistry, 'list'>): string[] {
  return [...hookEventNames, ...commands.list().map(({ name }) => `command:${name}`)]
}

/** How the keys of messages begin that hooks send. */
const hookMessagePrefix = 'hook:'

/**
 * What became of a message of ours, as a gateway event. Nothing is told of what hooks send: two that answer each other would
 * never end. Answers of background tasks are no events either (src/flows/background-tasks.ts).
 */
export function emitDeliveryEvent(message: FinishedMessage, emit: HookEventListener): void {
  const { key, target, sessionKey, kind, text, messageId, error } = message
  if (key.startsWith(hookMessagePrefix)) return
  if (sessionKey !== null && platformOf(sessionKey) === backgroundPlatform) return
  const context = {
    platform: target.platform,
    chat_id: target.chatId,
    thread_id: target.threadId ?? '',
    session_key: sessionKey ?? '',
    kind,
    message: truncateForHooks(text),
    message_full: text,
  }
  if (error === undefined) emit('message:sent', { ...context, message_id: messageId ?? '' })
  else emit('message:failed', { ...context, error })
}
