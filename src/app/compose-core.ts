/**
 * Builds the rooms of the route and joins them: inbox, sessions, outbox, with the hooks, the questions and the plugins
 * around them. What works through the lanes is built of these (src/app/compose-agent.ts, src/app/compose-commands.ts).
 */

import { type CommandRegistry, createCommandRegistry } from '../commands/registry.ts'
import { createEmbeddedEngine } from '../engine/embedded-engine.ts'
import type { Engine } from '../engine/engine.ts'
import { type Approvals, createApprovals } from '../flows/approvals.ts'
import { createAttachmentPolicy } from '../flows/attachment-policy.ts'
import { type BackgroundTasks, createBackgroundTasks } from '../flows/background-tasks.ts'
import { type CommandDecisions, createCommandDecisions } from '../flows/command-decision.ts'
import { createGatewayEvents, type GatewayEvents } from '../flows/gateway-events.ts'
import { createSessionServices, type SessionServices } from '../flows/session-services.ts'
import { createTurnInfoFactory, type TurnInfoFactory } from '../flows/turn/turn-info.ts'
import type { HookRegistry } from '../hooks/registry.ts'
import { createEventResults, type EventResults } from '../inbox/event-results.ts'
import { createInbox, type Inbox } from '../inbox/inbox.ts'
import { sleep } from '../lib/timers.ts'
import { type MessageEvent, parseCommand } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { createMiddleware } from '../middleware/middleware.ts'
import { createOutbox, type Outbox } from '../outbox/outbox.ts'
import { createRunningTurns, type RunningTurns } from '../sessions/running-turns.ts'
import { composeHooks, createHookServices, emitDeliveryEvent } from './compose-hooks.ts'
import { createPluginRegistries, type PluginRegistries } from './compose-plugins.ts'
import type { AppContext } from './context.ts'

export interface Core extends GatewayEvents, Approvals {
  readonly engine: Engine
  readonly commands: CommandRegistry
  readonly turnResults: EventResults
  readonly runningTurns: RunningTurns
  readonly outbox: Outbox
  /** Undefined in a terminal with a gateway of its own. */
  readonly hooks: HookRegistry | undefined
  readonly commandDecisions: CommandDecisions
  readonly pluginRegistries: PluginRegistries
  readonly sessionServices: SessionServices
  readonly inbox: Inbox
  readonly backgroundTasks: BackgroundTasks
  /** `<platform>_<chat_type>`, or how a background task is marked. */
  routeOf(event: Pick<MessageEvent, 'source' | 'task'>): string
  /** What plugins are told of a turn. */
  readonly turnInfoOf: TurnInfoFactory
  /** What a terminal with a gateway of its own talks in. */
  embeddedSessionKey(): SessionKey | undefined
}

export function composeCore(context: AppContext): Core {
  const {
    options,
    config,
    settings,
    accountDirectory,
    platforms,
    store,
    phase,
    redact,
    stopping,
    clock,
    random,
    log,
    failpoint,
  } = context
  const { home, onlyPlatforms } = options
  const isOpen = () => phase() === 'ready'
  let ownSession: SessionKey | undefined

  const events = createGatewayEvents({ listeners: options.listeners ?? [], hooks: () => hooks, log })
  const { emit } = events
  const engine = createEmbeddedEngine({ log, random, concurrency: () => settings().agent.max_concurrent_turns })
  const commands = createCommandRegistry()
  const turnResults = createEventResults(store)
  const runningTurns = createRunningTurns()

  const outbox = createOutbox({
    store,
    sender: platforms.adapter,
    limitsOf: (platform) => accountDirectory.platform(platform)?.limits,
    replyPolicy: accountDirectory.policyOf,
    attachmentPolicy: createAttachmentPolicy({ home, environment: config.environment, log }),
    onUnauthorised: (platform, account) =>
      platforms.failAccount(platform, account, 'the platform refused the credentials'),
    onFinished: (message) => {
      if (accountDirectory.emitsEvents(message.target)) emitDeliveryEvent(message, emit)
    },
    clock,
    random,
    log,
    settings,
    failpoint,
  })

  // A terminal with a gateway of its own loads no hooks (contract §1.2).
  const hooks =
    onlyPlatforms === undefined
      ? composeHooks({
          home,
          config,
          commands,
          acceptAll: options.acceptHooks === true,
          services: createHookServices({
            accountDirectory,
            store,
            outbox,
            startTask: (order) => backgroundTasks.start(order),
            openTasks: () => backgroundTasks.open(),
            clock,
            log,
          }),
          clock,
          log,
        })
      : undefined
  const commandDecisions = createCommandDecisions({
    hooks,
    commands,
    isRunning: runningTurns.isRunning,
    timeoutMs: () => settings().hooks.command_timeout * 1_000,
  })

  const routeOf = ({ source, task }: Pick<MessageEvent, 'source' | 'task'>) =>
    task?.route ?? `${source.platform}_${source.chatType}`
  // The command line is the platform without gateway events, and the one without a route (seed 003).
  const routeForPlugins = (event: Pick<MessageEvent, 'source' | 'task'>) =>
    accountDirectory.platform(event.source.platform)?.gatewayEvents === false ? '' : routeOf(event)
  const pluginRegistries = createPluginRegistries({
    config,
    middleware: createMiddleware({ log }),
    routeOf: (source) => routeForPlugins({ source }),
    redact,
    clock,
    random,
    sleep,
    log,
  })
  const { gatewayHooks } = pluginRegistries

  const sessionServices = createSessionServices({
    store,
    engine,
    runningTurns,
    turnResults,
    emit,
    clock,
    emitsEvents: accountDirectory.emitsEvents,
    onSessionReplaced(replaced) {
      gatewayHooks.sessionReplaced(replaced)
      void approvals.questions.turnEnded(replaced.sessionKey)
    },
  })
  const inbox = createInbox({
    store,
    clock,
    log,
    failpoint,
    checkAccess: accountDirectory.access,
    editPolicyOf: (source) => accountDirectory.policyOf(source).edits,
    emitsEvents: accountDirectory.emitsEvents,
    preDispatchHooks: gatewayHooks,
    emit,
    onWithdrawn(seq, outcome) {
      // Its files may be on their way.
      runningTurns.stopEvent(seq)
      turnResults.publish(seq, outcome)
    },
    isOpen,
    maxMessageBytes: () => settings().inbox.max_message_kb * 1024,
    sessionKeyOf: accountDirectory.sessionKey,
    queueKindOf(event) {
      const command = parseCommand(event)
      return command === null ? 'turn' : (commands.resolve(command.name)?.queue ?? 'turn')
    },
    wake(key, lane, event) {
      if (event !== undefined) commandDecisions.onEnqueued(key, event)
      if (onlyPlatforms !== undefined) ownSession = key
      engine.wake(key, lane)
    },
  })
  const backgroundTasks = createBackgroundTasks({ store, inbox, turnResults, clock, log })
  const approvals = createApprovals({
    store,
    outbox,
    engine,
    accountDirectory,
    clock,
    log,
    settings,
    emit,
    adapter: platforms.adapter,
    isOpen,
    plugins: gatewayHooks,
    redact,
    stopping,
    abortTurn: runningTurns.abort,
    failpoint,
  })

  return {
    ...events,
    ...approvals,
    engine,
    commands,
    turnResults,
    runningTurns,
    outbox,
    hooks,
    commandDecisions,
    pluginRegistries,
    sessionServices,
    inbox,
    backgroundTasks,
    routeOf,
    turnInfoOf: createTurnInfoFactory(routeForPlugins),
    embeddedSessionKey: () => ownSession,
  }
}
