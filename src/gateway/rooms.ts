/**
 * Builds the rooms of the route and joins them: inbox, sessions, outbox, with the hooks, the questions and the plugins
 * around them. What works through the lanes is built of these (src/gateway/conversations.ts, src/gateway/commands.ts).
 */

import { type CommandRegistry, createCommandRegistry } from '../commands/registry.ts'
import { createEmbeddedEngine } from '../engine/embedded.ts'
import type { Engine } from '../engine/engine.ts'
import type { HookRegistry } from '../hooks/registry.ts'
import { createInbox, type Inbox } from '../inbox/inbox.ts'
import { createOutcomes, type Outcomes } from '../inbox/outcomes.ts'
import { pause } from '../lib/wait.ts'
import { type MessageEvent, parseCommand } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { createMiddleware } from '../middleware/middleware.ts'
import { createOutbox, type Outbox } from '../outbox/outbox.ts'
import { createRunningTurns, type RunningTurns } from '../sessions/running-turns.ts'
import { createTurnFacts, type FactsOf } from '../turn/facts.ts'
import { type Background, createBackground } from './background.ts'
import { type CommandDecisions, createCommandDecisions } from './command-decision.ts'
import { createEvents, type Events } from './events.ts'
import { createGatewayHooks, createHookServices, tellSettled } from './hooks.ts'
import { createOutgoingFiles } from './outgoing-files.ts'
import { createPluginGround, type PluginGround } from './plugins.ts'
import { type Asking, createAsking } from './questions.ts'
import { createSessionServices, type SessionServices } from './session-services.ts'
import type { Shared } from './shared.ts'

export interface Rooms extends Events, Asking {
  readonly engine: Engine
  readonly commands: CommandRegistry
  readonly outcomes: Outcomes
  readonly running: RunningTurns
  readonly outbox: Outbox
  /** Undefined in a terminal with a gateway of its own. */
  readonly hooks: HookRegistry | undefined
  readonly decisions: CommandDecisions
  readonly pluginGround: PluginGround
  readonly sessions: SessionServices
  readonly inbox: Inbox
  readonly background: Background
  /** `<platform>_<chat_type>`, or how a background task is marked. */
  routeOf(event: Pick<MessageEvent, 'source' | 'task'>): string
  /** What plugins are told of a turn. */
  readonly factsOf: FactsOf
  /** What a terminal with a gateway of its own talks in. */
  ownSession(): SessionKey | undefined
}

export function createRooms(shared: Shared): Rooms {
  const { options, config, settings, people, platforms, store, phase, redact, ended, clock, random, log, probe } =
    shared
  const { home, only } = options
  const isOpen = () => phase() === 'ready'
  let ownSession: SessionKey | undefined

  const events = createEvents({ listeners: options.listeners ?? [], hooks: () => hooks, log })
  const { emit } = events
  const engine = createEmbeddedEngine({ log, random, concurrency: () => settings().agent.max_concurrent_turns })
  const commands = createCommandRegistry()
  const outcomes = createOutcomes(store)
  const running = createRunningTurns()

  const outbox = createOutbox({
    store,
    sender: platforms.adapter,
    limitsOf: (platform) => people.platform(platform)?.limits,
    manner: people.manner,
    files: createOutgoingFiles({ home, environment: config.environment, log }),
    onRefused: (platform, account) => platforms.refuse(platform, account, 'the platform refused the credentials'),
    onSettled: (message) => {
      if (people.watched(message.target)) tellSettled(message, emit)
    },
    clock,
    random,
    log,
    settings,
    probe,
  })

  // A terminal with a gateway of its own loads no hooks (contract §1.2).
  const hooks =
    only === undefined
      ? createGatewayHooks({
          home,
          config,
          commands,
          acceptsAll: options.acceptHooks === true,
          services: createHookServices({
            people,
            store,
            outbox,
            startTask: (order) => background.start(order),
            openTasks: () => background.open(),
            clock,
            log,
          }),
          clock,
          log,
        })
      : undefined
  const decisions = createCommandDecisions({
    hooks,
    commands,
    isRunning: running.isRunning,
    waitMs: () => settings().hooks.command_timeout * 1_000,
  })

  const routeOf = ({ source, task }: Pick<MessageEvent, 'source' | 'task'>) =>
    task?.route ?? `${source.platform}_${source.chatType}`
  // The command line is the platform without gateway events, and the one without a route (seed 003).
  const routeForPlugins = (event: Pick<MessageEvent, 'source' | 'task'>) =>
    people.platform(event.source.platform)?.gatewayEvents === false ? '' : routeOf(event)
  const pluginGround = createPluginGround({
    config,
    middleware: createMiddleware({ log }),
    routeOf: (source) => routeForPlugins({ source }),
    redact,
    clock,
    random,
    pause,
    log,
  })
  const { gatewayPoints } = pluginGround

  const sessions = createSessionServices({
    store,
    engine,
    running,
    outcomes,
    emit,
    clock,
    watched: people.watched,
    sessionReplaced(replaced) {
      gatewayPoints.sessionReplaced(replaced)
      void asking.questions.turnEnded(replaced.sessionKey)
    },
  })
  const inbox = createInbox({
    store,
    clock,
    log,
    probe,
    access: people.access,
    edits: (source) => people.manner(source).edits,
    watched: people.watched,
    plugins: gatewayPoints,
    emit,
    settled(seq, outcome) {
      // Its files may be on their way.
      running.stopEvent(seq)
      outcomes.settle(seq, outcome)
    },
    open: isOpen,
    maxMessageBytes: () => settings().inbox.max_message_kb * 1024,
    sessionKey: people.sessionKey,
    laneOf(event) {
      const command = parseCommand(event)
      return command === null ? 'turn' : (commands.resolve(command.name)?.lane ?? 'turn')
    },
    wake(key, lane, event) {
      if (event !== undefined) decisions.arrived(key, event)
      if (only !== undefined) ownSession = key
      engine.wake(key, lane)
    },
  })
  const background = createBackground({ store, inbox, outcomes, clock, log })
  const asking = createAsking({
    store,
    outbox,
    engine,
    people,
    clock,
    log,
    settings,
    emit,
    adapter: platforms.adapter,
    open: isOpen,
    plugins: gatewayPoints,
    redact,
    stopping: ended,
    letGo: running.cutOff,
    probe,
  })

  return {
    ...events,
    ...asking,
    engine,
    commands,
    outcomes,
    running,
    outbox,
    hooks,
    decisions,
    pluginGround,
    sessions,
    inbox,
    background,
    routeOf,
    factsOf: createTurnFacts(routeForPlugins),
    ownSession: () => ownSession,
  }
}
